// Package mind is the wing of what a robot makes of its memories: what the data mean, where
// things are, what follows from what is known. The rest of the program carries any data;
// what is special to robots is here.
//
// Packages of this wing import the root package, core, each other, gen/ and internal/; none of
// fleet, edge, client, node or cmd. Most see memories through the interfaces of the root
// package, so they work in a server, in a client, and alone. The wing's own folder has nothing
// but this comment.
//
// The concrete memories:
//
//	memories             Vision, Object, RobotState …: types (memories/types), segments, bounds, hooks; prior knowledge
//	memories/vision      looks inside images
//
// Where things are and were:
//
//	pose                 frames over time: a tree of transforms with uncertainty and revisions
//	pose/urdf            reads robot descriptions
//	pose/lookup          what a store of poses offers to programs that do not hold it
//	pose/api             the calls for that: messages of api/, server and client
//
// What is around the robot:
//
//	world                items stated by several providers, merged into one forest; its recovery from copies
//	world/answer         what is asked of a world, and the answers; no forest
//	world/view           answers from forests: those that a server keeps for who asks, or the caller's own
//	world/api            the calls for that: messages of api/, server and client
//	world/files          items as YAML or JSON, robot descriptions, occupancy grids of ROS (YAML and PGM)
//
// What is known and follows:
//
//	knowledge            graphs of triples with what RDF Schema and OWL make of them
//	knowledge/rdf        terms and triples; RDF/XML, Turtle, N-Triples, N-Quads
//	knowledge/record     triples as entities of the memory Knowledge and back; imports documents
//	knowledge/semmap     the world as semantic maps of KnowRob and RoboEarth, and such maps as items
//	knowledge/computed   relations that follow from poses, boxes and times
//	knowledge/swrl       rules of SWRL
//	knowledge/pattern    reads and answers questions as patterns of triples and class expressions
//	knowledge/prolog     reads and answers questions in Prolog
//	knowledge/base       one graph of what all memories of a server know, and its answers
//	knowledge/logic      questions and rows, for who asks and who answers; no engine
//	knowledge/api        the calls for that: messages of api/, server and client
//
// What led to what:
//
//	link                 follows links from results to causes and back: traces
//	link/reason          says in sentences why something is so
//
// What the robot can do:
//
//	skill                skills: who offers them, who asks for them, what came of it
//	skill/condition      when standing conditions are fulfilled
//	skill/schedule       which executions run, wait and stop
//	skill/executor       the hooks of the memory Skill
//	skill/script         providers of skills that are written in YAML
//
// Where the robot goes:
//
//	navigation           what goals mean; cost maps that follow the world; planner and navigator as skills
//	navigation/grid      occupancy grids, cost maps, objects on them
//	navigation/plan      ways over cost maps
//	navigation/graph     ways over graphs of places
//
// Shared in this wing:
//
//	internal/yamldoc     parses YAML that anybody may have written
package mind
