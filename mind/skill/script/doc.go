// Package script reads providers of skills from YAML: what each skill does is a list of steps, such as to wait, to
// report progress, to fail, to run another skill. Such providers take the place of real ones in tests, and on a
// computer without a robot.
//
//	providers:
//	  Arm:
//	    skills:
//	      Grasp:
//	        text: closes the hand around an object
//	        parameter_type: ""           # and result_type, defaults, time_limit, resources, priority, stop_within,
//	        resources: [right_arm]       # preemptible, repeatable, subskills, resolves: those of skill.Description
//	        requires: ["lasting no Object/Instance/*/~person.* near 1 m of base_link"] # terms, as condition.ParseTerm reads them
//	        stopping: 300ms              # how long it takes to stand still; nothing without it
//	        steps:
//	          - progress: 0.5            # from 0 to 1; message alone says what is done
//	            message: closing the hand
//	          - wait: 500ms
//	          - fail: the milk slipped   # with code, retry, blocked_by: a list of IDs
//	            retry: true
//	            when: {object: milk}     # any step may have it: only where parameters have these values
//	          - repeat: $times           # steps, as often as that; a message is told with the progress
//	            steps: [wait: 100ms]
//	          - run: Arm/Lift            # another skill; if it fails, this one does, but with ignore_failure: true
//	            parameters: {object: $object}
//	          - commit: Object/Instance/Arm/$object
//	            type: engram.object.Instance
//	            values: {name: $object}
//	          - refuse: the cup would fall   # the next time that it is told to stop, and goes on
//	          - ignore_stop: true            # from here on it does not stop, and is fenced
//	          - result: {object: $object}
//	        calls:                       # what it does besides, after the steps, when it is called for the first time, the
//	          - fail: the hand is cold   # second time and so on; the last holds for all that follow
//	          - []
//
// In texts $NAME or ${NAME} is a parameter of the call, and $$ a dollar sign; a text that is nothing but $NAME is the
// parameter's value, of whatever type. An execution fails that was not given a parameter which a step names.
package script
