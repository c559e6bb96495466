"""The cases of core/memorytest/cases, which every client passes; cases.go says what they mean."""

import base64
import json
import pathlib

from support import WithServer

import engram

CASES = pathlib.Path(__file__).resolve().parents[3] / "core/memorytest/cases"
TIMEOUT = 180


class Cases(WithServer):
    made = 0
    memory = "GeneralPurpose"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, descriptors in json.loads((CASES / "types.json").read_text()).items():
            cls.m.add_type(name, base64.b64decode(descriptors))

    def test_cases(self):
        files = sorted(CASES.glob("*.json"))
        self.assertGreater(len(files), 3)
        for file in files:
            if file.name != "types.json":
                for name, case in json.loads(file.read_text()).items():
                    self.run_case(f"{file.stem}: {name}", case)

    def test_they_can_fail(self):
        got = [{"entity": "R/P/cup", "time": 5, "error": "", "instances": 1, "confidence": 1.0, "value": {"value": 1.0}}]
        query = {"query": {"pattern": "R"}}
        self.compare({**query, "want": [{"entity": "R/P/cup", "time": 5, "value": {"value": 1.0}}]}, got)
        for wrong in ([], [{"entity": "R/P/cup", "time": 6}], [{"entity": "R/P/plate", "time": 5}], [{"entity": "R/P/cup", "time": 5, "confidence": 0.5}],
                      [{"entity": "R/P/cup", "time": 5, "value": {"value": 2.0}}]):
            with self.subTest(wrong), self.assertRaises(AssertionError):
                self.compare({**query, "want": wrong}, got)

    def run_case(self, name, case):
        self.segments, self.types, self.watch = {}, case["segments"], None
        for key, type in case["segments"].items():
            Cases.made += 1
            self.segments[key] = f"{self.memory}/case{Cases.made}"
            self.m.add_segment(self.segments[key], type)
        for i, step in enumerate(case["steps"]):
            with self.subTest(f"{name}, step {i}"):
                got, error = None, ""
                try:
                    got = self.step(step)
                except engram.Error as e:
                    error = e.code
                self.assertEqual(error, step.get("error", ""))
                if got is not None:
                    self.compare(step, got)
        if self.watch is not None:
            self.watch.close()

    def place(self, text):
        key, slash, rest = text.partition("/")
        return self.segments[key] + slash + rest

    def back(self, entity):
        for key, segment in self.segments.items():
            if entity.startswith(segment + "/"):
                return key + entity[len(segment):]
        return entity

    def step(self, step):
        if "commit" in step:
            updates = []
            for u in step["commit"]:
                type = u.get("type") or self.types[u["entity"].partition("/")[0]] or "engram.idf.v1.Value"
                instances = [engram.Datum(self.members(type, i["value"]), i.get("confidence", 1.0), type=type) for i in u["instances"]]
                updates.append(self.m.update(self.place(u["entity"]), time=u["time"], instances=instances))
            return [{"entity": self.back(d.id.entity), "time": d.id.time or 0, "error": d.error.code if d.error else ""} for d in self.m.commit_all(updates)]
        if "query" in step:
            q = dict(step["query"])
            pattern = self.place(q.pop("pattern"))
            options = {"payload": not q.pop("without_payload", False)}
            found = []
            selects = q.pop("select", [{}])
            if len(selects) > 1:
                selects = [{k: v for s in selects for k, v in s.items()}]
            for s in selects:
                s = dict(s)
                if "within" in s:
                    s["within"] = engram.Duration(s["within"])
                for member in ("range", "index"):
                    if member in s:
                        s[member] = tuple(s[member])
                found += self.m.query(pattern, **s, **q, **options)
            return [self.describe(s) for s in found]
        if "latest" in step:
            return [self.describe(self.m.latest(self.place(step["latest"]), at=step.get("at")))]
        if "subscribe" in step:
            w = step["subscribe"]
            backfill = engram.Time(w["since"]) if "since" in w else w.get("last")
            watch = self.m.watch(self.place(w["pattern"]), backfill=backfill, where=w.get("where", ""))
            if self.watch is not None:
                self.watch.close()
            self.watch = watch
            return None
        got = []
        for _ in range(step["updates"]):
            u = self.watch.get(TIMEOUT)
            self.assertIsNotNone(u, "no update came")
            got.append(self.describe(u.snapshot))
        return got

    def members(self, type, value):
        """Reads members as JSON has them: 64-bit integers are texts."""
        if type == "memorytest.Marked" and "mark" in value:
            return {**value, "mark": int(value["mark"])}
        return value

    def describe(self, s):
        value = s.value if len(s[0].data) else {}
        return {"entity": self.back(s.entity), "time": s.time, "error": "", "instances": len(s), "confidence": s.confidence, "value": value}

    def compare(self, step, got):
        want = step.get("want")
        if "commit" in step and want is None:
            self.assertEqual([g["error"] for g in got], [""] * len(got))
            return
        if "query" in step:
            got, want = (sorted(x, key=lambda s: (s["entity"], s["time"])) for x in (got, want))
        self.assertEqual(len(got), len(want), got)
        for g, w in zip(got, want):
            for key in w:
                if key == "value":
                    for member, value in w["value"].items():
                        have = g["value"][member]
                        if isinstance(value, dict):
                            have = {k: have[k] for k in value}
                        self.assertEqual(str(have) if isinstance(value, str) else have, value)
                elif not (key == "time" and w.get("error")):
                    self.assertEqual(g[key], w[key], key)


class CasesByGrpc(Cases):
    @classmethod
    def address(cls):
        return cls.server.http


class CasesOfHostedMemory(Cases):
    """The memory is hosted by this program, with hooks that let everything pass."""

    memory = "Hosted"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        hosted, cls.seen = cls.m.host(cls.memory, timeout="60s"), {"commit": 0, "query": 0}

        @hosted.on_commit
        def commit(u):
            cls.seen["commit"] += 1
            u.instances = [engram.Datum(bytes(i.data), i.confidence, i.sent, i.type) for i in u.instances]

        @hosted.on_query
        def query(asked):
            cls.seen["query"] += 1

        hosted.__enter__()
        cls.addClassCleanup(hosted.close)

    def test_cases(self):
        super().test_cases()
        self.assertGreater(min(self.seen.values()), 10)
