"""Skills: what the robot can do. Offer some, ask for some, follow what becomes of that; docs/skills.md."""

from __future__ import annotations

import inspect
import secrets
import threading
import time as _time
import typing
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Optional

from . import errors
from ._background import Background
from ._query import pattern_of
from .ids import ID
from .snapshots import Snapshot
from .times import Duration, SpanLike, Time, now, parse_span

if TYPE_CHECKING:
    from .client import Memory
    from .values import Record

ENDED = ("Succeeded", "Failed", "Aborted")
_RETRY = 0.1
_MAX_ENDED = 1000


class SkillFailed(Exception):
    """Why a skill came to no good end: ``code`` for programs, ``retry`` yes, later, no or empty. A handler raises it to
    fail with a code of its own."""

    def __init__(self, code: str, message: str = "", *, retry: str = "", stage: Any = (), blocked_by: Any = ()) -> None:
        super().__init__((" > ".join(stage) + ": " if stage else "") + (message or code))
        self.code, self.message, self.retry = code, message, retry
        self.stage, self.blocked_by = list(stage), list(blocked_by)


class SkillStopped(Exception):
    """The execution is to stop. A handler lets it pass once all stands still."""


class Description(NamedTuple):
    """A skill that somebody offers."""

    name: str
    provider: str
    description: str
    parameter_type: str
    defaults: Any
    resources: list[str]
    in_service: bool


class Skills:
    """The skills of a robot. ``m.skills.run("Grasp", object="cup")`` runs one and returns its result."""

    def __init__(self, memory: "Memory", segment: str = "Skill") -> None:
        self._m = memory
        self._memory = segment

    def list(self) -> list[Description]:
        """All skills that are known."""
        alive = {}
        for p in self._m.query(ID(self._memory) / "Provider"):
            alive[p.entity.name] = p["in_service"] and now() < p.time + p["lease"]
        return [Description(d["name"], d["skill_provider"], d["description"], d["parameter_type"], d["default_parameters"], d["resources"],
                            bool(alive.get(d["skill_provider"]))) for d in self._m.query(ID(self._memory) / "Description")]

    def start(self, skill: str, parameters: Any = None, /, *, caller: str = "python", cause: Any = None, parent: Any = None,
              timeout: Optional[SpanLike] = None, priority: Optional[int] = None, dry_run: bool = False, **members: Any) -> "Execution":
        """Asks for an execution: ``Grasp``, or ``Arm/Grasp`` of one provider. Parameters are a dict, or keywords. NotFound if
        there is no such skill, Invalid or TypeMismatch if the parameters do not fit."""
        if members:
            parameters = {**(parameters or {}), **members}
        when = now()
        name = f"{when:x}-{secrets.token_hex(3)}"
        request = ID.of(self._memory, "Request", caller, name)
        self._m.commit(request, {"timestamp": when, "skill": skill, "parameters": parameters, "caller": caller, "cause": cause, "parent": parent,
                                 "timeout": None if timeout is None else parse_span(timeout), "priority": priority,
                                 "dry_run": dry_run or None}, time=when)
        return Execution(self._m, request)

    def run(self, skill: str, parameters: Any = None, /, **options: Any) -> Any:
        """Asks for an execution, with the arguments of :meth:`start`, and waits: returns the result, or raises
        :class:`SkillFailed`. An interrupt aborts it."""
        execution = self.start(skill, parameters, **options)
        try:
            return execution.result()
        except KeyboardInterrupt:
            execution.abort("its caller was interrupted")
            raise

    def follow(self, id: str) -> "Execution":
        """Returns an execution that somebody asked for, by its ID or the request's."""
        return Execution(self._m, ID(id))


class Execution:
    """An execution of a skill."""

    def __init__(self, memory: "Memory", request: ID) -> None:
        parts = request.parts
        if len(parts) < 4 or parts[1] not in ("Request", "Execution"):
            raise errors.Invalid(request, "this is neither a request for a skill nor an execution")
        self._m = memory
        self.id = ID.of(parts[0], "Execution", *parts[2:4])
        self.request = ID.of(parts[0], "Request", *parts[2:4])

    def state(self) -> "Record":
        """What is known of it now, with the members of engram.skill.Execution."""
        value: Record = self._m.latest(self.id).value
        return value

    @property
    def status(self) -> str:
        """Constructing, Initializing, Preparing, Running, Stopping; Succeeded, Failed or Aborted at the end."""
        return str(self.state()["status"])

    def watch(self) -> Iterator["Record"]:
        """Yields the present state and each later one, up to the end."""
        last = -1
        with self._m.watch(pattern_of(self.id), backfill=1) as updates:
            for u in updates:
                if u.snapshot is None or u.time <= last:
                    continue
                last = u.time
                yield u.value
                if u.value["status"] in ENDED:
                    return

    def wait(self, timeout: Optional[float] = None) -> "Record":
        """Waits for the end, and returns it. Canceled if that takes more than so many seconds."""
        until = None if timeout is None else _time.monotonic() + timeout
        with self._m.watch(pattern_of(self.id), backfill=1) as updates:
            while True:
                u = updates.get(None if until is None else max(until - _time.monotonic(), 0))
                if u is None:
                    raise errors.Canceled(self.id, f"it has not ended within {timeout} s")
                if u.snapshot is not None and u.value["status"] in ENDED:
                    value: Record = u.value
                    return value

    def result(self, timeout: Optional[float] = None) -> Any:
        """Waits for the end, and returns the result. SkillFailed if it failed or was aborted."""
        end = self.wait(timeout)
        if end["status"] == "Succeeded":
            return end["result"]
        f = end["failure"]
        if end["status"] == "Failed" and f is not None:
            raise SkillFailed(f["code"], f["message"], retry=f["retry"], stage=f["stage"], blocked_by=f["blocked_by"])
        stop = end["stop"]
        if end["status"] == "Aborted":
            unsure = "; its standstill is not confirmed" if stop is not None and stop["answer"] == "Unconfirmed" else ""
            raise SkillFailed("aborted", (f"aborted ({stop['reason']}): {stop['message']}" if stop is not None else end["message"] or "aborted") + unsure)
        raise SkillFailed("provider", end["message"])

    def abort(self, message: str = "", *, by: str = "python", timeout: float = 30) -> str:
        """Aborts it, and waits for what comes of that: Confirmed (all stands still, also where it had ended by itself),
        Unconfirmed (it may still move), or Refused. Canceled if there is no answer within ``timeout`` seconds."""
        when = now()
        try:
            before = self.state()["stop"]
        except errors.NotFound:
            before = None
        self._m.commit(ID.of(self.id.memory, "Abort", by, self.id.name),
                       {"timestamp": when, "request": self.request, "reason": "operator", "message": message, "by": by}, time=when)
        until = _time.monotonic() + timeout
        with self._m.watch(pattern_of(self.id), backfill=1) as updates:
            while True:
                u = updates.get(max(until - _time.monotonic(), 0))
                if u is None:
                    raise errors.Canceled(self.id, f"no answer to the abort within {timeout} s")
                if u.snapshot is None:
                    continue
                stop = u.value["stop"]
                if u.value["status"] in ENDED:
                    return "Unconfirmed" if stop is not None and stop["answer"] == "Unconfirmed" else "Confirmed"
                if stop is not None and stop["answer"] == "Refused" and (before is None or before["asked"] != stop["asked"]):
                    return "Refused"

    def __repr__(self) -> str:
        return f"<Execution {self.id}>"


# Offering skills.


class _Offer(NamedTuple):
    name: str
    handler: Callable[..., Any]
    description: dict[str, Any]
    parameters: dict[str, Any]  # annotation by parameter
    any_parameters: bool


class Call:
    """One execution, in its handler. Its methods may be called from any thread."""

    def __init__(self, provider: "Provider", order: Any, entity: str) -> None:
        self._provider, self._entity = provider, entity
        self.execution: ID = order["execution"]
        self.skill: str = order["skill"]
        self.caller: str = order["caller"]
        self.cause: Optional[ID] = order.get("cause")
        self.attempt: int = order["attempt"]
        self.deadline: Optional[Time] = order["deadline"]
        self._epoch: int = order["provider_epoch"]
        self.stopping = threading.Event()
        """Set when the execution is to stop."""
        self.reason = ""
        self._last: dict[str, Any] = {"progress": None, "message": "", "intermediate": None}
        self._refuses = False

    @property
    def memory(self) -> "Memory":
        """The memory, to query, commit and predict."""
        return self._provider._m

    def progress(self, done: float, message: str = "") -> None:
        """Says how much is done, from 0 to 1, and what is done now."""
        self._last.update(progress=float(done), message=message)
        self._say({"kind": "Running"})

    def intermediate(self, value: Any) -> None:
        """Says what was found so far."""
        self._last.update(intermediate=value)
        self._say({"kind": "Running"})

    def refuse_stop(self, message: str = "it cannot be stopped now") -> None:
        """Answers orders to stop, the present one and those to come, with no."""
        self._refuses = True
        if self.reason:
            self._say({"kind": "StopRefused", "message": message})

    def check(self) -> None:
        """Raises SkillStopped if the execution is to stop."""
        if self.stopping.is_set():
            raise SkillStopped(self.reason)

    def sleep(self, seconds: float) -> None:
        """Waits; raises SkillStopped as soon as the execution is to stop."""
        self.stopping.wait(seconds)
        self.check()

    def run(self, skill: str, parameters: Any = None, /, **options: Any) -> Any:
        """Runs another skill as a part of this one; when this one is stopped, so is the other."""
        options.setdefault("caller", self._provider.name)
        options.setdefault("parent", self.execution)
        options.setdefault("cause", self.cause)
        return self._provider._m.skills.start(skill, parameters, **options).result()

    def _say(self, report: dict[str, Any]) -> None:
        self._provider._report(self, {**self._last, **report})

    def _stop(self, reason: str) -> None:
        self.reason = self.reason or reason
        self.stopping.set()


class Provider(Background):
    """Offers skills::

        arm = m.provider("Arm")

        @arm.skill(resources=["right_arm"], timeout="20s")
        def grasp(call, object: str, force: float = 10.0):
            '''Closes the hand around something.'''
            call.progress(0.5, "closing")
            return {"force": force}

        arm.run()  # until close, or an interrupt

    Parameters, their types and defaults are those of the function; it runs in a thread of its own, and what it
    returns is the result. When it returns, all that it moved stands still. ``with arm:`` runs the provider
    in the background. It goes on where the server was away; after a lease without an answer it stops what runs.
    """

    def __init__(self, memory: "Memory", name: str, *, memory_name: str = "Skill", lease: SpanLike = "3s") -> None:
        super().__init__(f"engram provider {name}")
        self._m = memory
        self._memory = memory_name
        self.name = name
        self.lease = parse_span(lease)
        self._offers: dict[str, _Offer] = {}
        self._lock = threading.Lock()
        self._epoch = 0
        self._calls: dict[tuple[ID, int], Call] = {}
        self._ended: dict[tuple[ID, int], dict[str, Any]] = {}
        self._again = threading.Event()
        self._watch: Any = None

    def skill(self, function: Optional[Callable[..., Any]] = None, *, name: str = "", description: str = "", resources: Any = (), timeout: Optional[SpanLike] = None,
              expected_duration: Optional[SpanLike] = None, stop_timeout: Optional[SpanLike] = None, priority: Optional[int] = None,
              preemptible: bool = False, resumable: bool = False, parameter_type: str = "", result_type: str = "") -> Any:
        """Makes a function a skill. Its first parameter is the :class:`Call`. Without a name it is the function's, such as
        PutAway of put_away; without a description it is the first line of the function's documentation."""
        def offer(f: Callable[..., Any]) -> Callable[..., Any]:
            called = name or "".join(w[:1].upper() + w[1:] for w in f.__name__.split("_"))
            if called in self._offers:
                raise errors.AlreadyExists(called, f"the provider {self.name} has a skill of this name")
            hints = typing.get_type_hints(f)
            parameters = list(inspect.signature(f).parameters.values())[1:]
            named = [p for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
            defaults = {p.name: p.default for p in named if p.default is not inspect.Parameter.empty and p.default is not None}
            optional = {p.name for p in named if p.default is None}
            kinds = {p.name: (hints.get(p.name, Any), p.name in optional) for p in named}
            text = description or (inspect.getdoc(f) or "").partition("\n")[0]

            def span(s: Optional[SpanLike]) -> Optional[Duration]:
                return None if s is None else parse_span(s)

            self._offers[called] = _Offer(called, f, {
                "name": called, "description": text, "skill_provider": self.name, "parameter_type": parameter_type, "result_type": result_type,
                "default_parameters": defaults or None, "timeout": span(timeout), "resources": list(resources), "priority": priority,
                "expected_duration": span(expected_duration), "stop_timeout": span(stop_timeout), "preemptible": preemptible or None,
                "resumable": resumable or None}, kinds, len(named) < len(parameters))
            return f

        return offer if function is None else offer(function)

    def run(self) -> None:
        """Offers the skills until :meth:`close`, from another thread or a handler of a signal, or an interrupt. AlreadyExists if another
        provider of this name lives."""
        try:
            while not self._closed.is_set():
                self._serve()
        except KeyboardInterrupt:
            pass
        finally:
            self._closed.set()
            self._stop_all("lost_provider")
            for call in list(self._calls.values()):
                call.stopping.set()
            until = _time.monotonic() + self.lease.seconds
            while self._calls and _time.monotonic() < until:
                _time.sleep(0.01)
            if self._epoch:
                try:
                    self._beat(False)
                except errors.Error:
                    pass
            if self._watch is not None:
                self._watch.close()

    def close(self) -> None:
        """Ends the provider; what runs is stopped."""
        self._closed.set()
        self._again.set()
        self._join()

    def __exit__(self, *_: object) -> None:
        self.close()

    # One epoch

    def _serve(self) -> None:
        self._epoch = max(now() + secrets.randbelow(1000), self._epoch + 1)
        if self._watch is not None:
            self._watch.close()
        self._watch = watch = self._retry(lambda: self._m.watch(pattern_of(ID.of(self._memory, "Call", self.name)), backfill=1, queue=1 << 14))
        if watch is None:
            return
        threading.Thread(target=self._listen, args=(watch,), daemon=True, name=f"engram orders of {self.name}").start()
        # Who has this name is given the time to be found dead.
        patience = _time.monotonic() + 1.5 * self.lease.seconds
        if self._retry(self._register, patience) is None:
            return
        self._ready.set()
        acknowledged = _time.monotonic()
        while not self._closed.is_set():
            self._again.wait(self.lease.seconds / 3)
            if self._closed.is_set():
                return
            sent = _time.monotonic()
            try:
                if self._again.is_set() or self._forgotten():
                    self._again.clear()
                    self._register()
                else:
                    self._beat(True)
                acknowledged = sent
            except (errors.Forbidden, errors.AlreadyExists, errors.Conflict):
                self._stop_all("lost_provider")
                return  # fenced: begin anew
            except errors.Error:
                pass
            if _time.monotonic() - acknowledged >= self.lease.seconds:
                self._stop_all("lost_provider")

    def _retry(self, call: Callable[[], Any], patience: float = 0) -> Any:
        while not self._closed.is_set():
            try:
                return call()
            except (errors.Unavailable, errors.Canceled, errors.Exhausted):
                pass
            except errors.AlreadyExists:
                if _time.monotonic() > patience:
                    raise
            self._closed.wait(_RETRY)
        return None

    def _register(self) -> bool:
        from .skilltypes import parameter_type

        updates = []
        for offer in self._offers.values():
            description = dict(offer.description)
            if not description["parameter_type"] and not offer.any_parameters:
                description["parameter_type"] = parameter_type(self._m, self.name, offer.name, offer.parameters)
            updates.append(self._m.update(ID.of(self._memory, "Description", self.name, offer.name), description))
        self._beat(True)
        for done in self._m.commit_all(updates):
            if done.error is not None:
                raise done.error
        return True

    def _forgotten(self) -> bool:
        """Reports whether the memory does not know what is offered, as one that began anew without data."""
        for offer in self._offers.values():
            try:
                self._m.latest(ID.of(self._memory, "Description", self.name, offer.name))
                return False
            except errors.NotFound:
                return True
        return False

    def _beat(self, in_service: bool) -> None:
        when = now()
        self._m.commit(ID.of(self._memory, "Provider", self.name, self.name),
                       {"timestamp": when, "epoch": self._epoch, "lease": self.lease, "in_service": in_service}, time=when)

    def _listen(self, watch: Any) -> None:
        try:
            for u in watch:
                if u.restarted or u.dropped:
                    self._again.set()
                if u.snapshot is not None:
                    self._order(u.entity.name, u.snapshot)
        except errors.Error as e:
            self._failed = e
            self._again.set()

    def _order(self, entity: str, s: Snapshot) -> None:
        o = s.value
        key = (o["execution"], o["attempt"])
        with self._lock:
            if o["provider_epoch"] != self._epoch:
                return
            call, ended = self._calls.get(key), self._ended.get(key)
            if call is None and ended is None and o["action"] == "Start":
                call = self._calls[key] = Call(self, o, entity)
                threading.Thread(target=self._execute, args=(call, key, o["parameters"]), daemon=True, name=f"engram skill {o['skill']}").start()
                return
        if ended is not None:
            self._commit_report(entity, ended)  # it may have been lost
        elif call is None:
            self._commit_report(entity, {"execution": key[0], "provider_epoch": o["provider_epoch"], "attempt": key[1], "kind": "Stopped", "message": ""})
        elif o["action"] == "Start":
            call._say({"kind": "Accepted"})
        elif call._refuses:
            call._say({"kind": "StopRefused", "message": "it cannot be stopped"})
        else:
            call._stop(o["reason"] or "operator")

    def _execute(self, call: Call, key: tuple[ID, int], parameters: Any) -> None:
        failure: Optional[SkillFailed] = None
        result = None
        offer = self._offers.get(call.skill)
        try:
            if offer is None:
                raise SkillFailed("unknown_skill", f"the provider {self.name} does not have this skill")
            given = dict(parameters or {})
            if not offer.any_parameters:
                given = {k: v for k, v in given.items() if k in offer.parameters}
            result = offer.handler(call, **given)
        except SkillFailed as e:
            failure = e
        except SkillStopped as e:
            failure = SkillFailed("stopped", str(e))
        except errors.Error as e:
            failure = SkillFailed(e.code.replace(" ", "_"), str(e), retry="later" if isinstance(e, errors.Unavailable) else "")
        except BaseException as e:
            failure = SkillFailed("exception", f"{type(e).__name__}: {e}", retry="no")
        report: dict[str, Any] = {"kind": "Succeeded", "result": result}
        if failure is not None and call.reason and not call._refuses:
            report = {"kind": "Stopped", "message": call.reason}
        elif failure is not None:
            report = {"kind": "Failed", "failure": {"code": failure.code, "message": failure.message, "retry": failure.retry,
                                                    "stage": failure.stage, "blocked_by": failure.blocked_by}}
        full = self._full(call, {**call._last, **report})
        with self._lock:
            self._ended[key] = full
            while len(self._ended) > _MAX_ENDED:
                del self._ended[next(iter(self._ended))]
        try:
            self._commit_report(call._entity, full)
        except errors.Invalid as e:  # a result that is nothing a payload can hold
            full = self._ended[key] = self._full(call, {"kind": "Failed", "failure": {"code": "result", "message": str(e), "retry": "no"}})
            self._commit_report(call._entity, full)
        finally:
            with self._lock:
                self._calls.pop(key, None)

    @staticmethod
    def _full(call: Call, report: dict[str, Any]) -> dict[str, Any]:
        return {**report, "execution": call.execution, "provider_epoch": call._epoch, "attempt": call.attempt}

    def _report(self, call: Call, report: dict[str, Any]) -> None:
        self._commit_report(call._entity, self._full(call, report))

    def _commit_report(self, entity: str, report: dict[str, Any]) -> None:
        id = ID.of(self._memory, "Report", self.name, entity)
        for pause in (0.02, 0.1, 0.5, 1.0, 2.0):
            try:
                self._m.commit(id, {**report, "timestamp": now()})
                return
            except (errors.Unavailable, errors.Canceled, errors.Exhausted):
                if report["kind"] in ("Running", "Accepted") or self._closed.wait(pause):
                    return  # what is not the last word is said again

    def _stop_all(self, reason: str) -> None:
        with self._lock:
            calls = list(self._calls.values())
        for call in calls:
            call._stop(reason)
