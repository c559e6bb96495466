"""Traces, which are those of the command line, and what they ask for."""

import asyncio
import html
import json
import pathlib
import random
import subprocess
import tempfile
import unittest
from unittest import mock

import numpy as np
from support import BINARY, Fleet, WithServer, run, until

import engram
from engram import ID, Time, _links
from engram import trace as traces

LINKED = """<AronTypeDefinition><GenerateTypes>
  <Object name="test::Part"><ObjectChild key="of"><engram::Link/></ObjectChild><ObjectChild key="text"><String/></ObjectChild></Object>
  <Object name="test::Linked">
    <ObjectChild key="number"><Int/></ObjectChild>
    <ObjectChild key="one"><engram::Link optional="true"/></ObjectChild>
    <ObjectChild key="list"><List><engram::Link/></List></ObjectChild>
    <ObjectChild key="lists"><List><List><engram::Link/></List></List></ObjectChild>
    <ObjectChild key="dict"><Dict><engram::Link/></Dict></ObjectChild>
    <ObjectChild key="tuple"><Tuple><Int/><engram::Link/></Tuple></ObjectChild>
    <ObjectChild key="parts"><List><test::Part/></List></ObjectChild>
    <ObjectChild key="named"><Dict><test::Part/></Dict></ObjectChild>
    <ObjectChild key="any"><AnyObject/></ObjectChild>
    <ObjectChild key="image"><Image pixelType="rgb24"/></ObjectChild>
  </Object>
</GenerateTypes></AronTypeDefinition>"""

DEEP = """syntax = "proto3";
package test;
import "engram/idf/v1/value.proto";
message Deep {
  map<int32, engram.idf.v1.Link> by_number = 1;
  map<bool, engram.idf.v1.Link> by_flag = 2;
  repeated Deep below = 3;
  oneof which { string text = 4; engram.idf.v1.Link to = 5; }
}
"""


def told(t):
    """A trace as the command line prints it for programs, with times as numbers."""
    return {
        "nodes": [(place(n.id), n.depth, n.type, n.time, n.snapshots[-1].time if n.is_activity else None, n.missing) for n in t.nodes],
        "links": [(place(k.source), place(k.target), k.member, place(k.id)) for k in t.links], "cut": t.cut}


def place(id):
    id = ID(id)
    return id.entity, id.time, id.instance


def time_of(text):
    return text if text is None else engram.times.parse_time(text)


class Written(WithServer):
    """What is written: links of all kinds to things of all kinds."""

    seed = 0

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with tempfile.TemporaryDirectory() as folder:
            for name, text in ("linked.xml", LINKED), ("deep.proto", DEEP):
                file = pathlib.Path(folder) / name
                file.write_text(text)
                run("type", "add", str(file), address=cls.server.socket)
        for core, type in ("Linked", "test.Linked"), ("Deep", "test.Deep"), ("Any", ""):
            cls.m.add_segment(f"GeneralPurpose/{core}", type)

    def traced(self, root, **options):
        """The trace of the command line."""
        words = []
        for name, value in options.items():
            words += [f"--{name}"] if value is True else [f"--{name}={','.join(value) if isinstance(value, list) else value}"]
        t = json.loads(run("trace", root, "-o", "json", *words, address=self.server.socket))
        nodes = [(place(n["id"]), n["depth"], n.get("type", ""), time_of(n.get("time")), time_of(n.get("until")), n.get("missing", "")) for n in t["nodes"]]
        return {"nodes": nodes, "links": [(place(k["from"]), place(k["to"]), k["member"], place(k["link"])) for k in t["links"]], "cut": t.get("cut", 0)}

    def compare(self, root, **options):
        asked = {"as_of" if k == "as-of" else k: v for k, v in options.items()}
        t = self.m.trace(root, **asked)
        self.assertEqual(told(t), self.traced(root, **options), f"seed {self.seed}: {root} {options}")
        return t


class Traces(Written):
    rounds = 24
    seed = random.randrange(1 << 32)  # another one each time

    def test_are_those_of_the_command_line(self):
        r = random.Random(self.seed)
        provider = type(self).__name__
        entities = [f"GeneralPurpose/{core}/{provider}/{i}" for core in ("Any", "Linked", "Deep") for i in range(3)]
        entities += [f"Skill/Execution/{provider}/{i}" for i in range(3)] + [f"RobotState/Proprioception/{provider}/joints"]

        def target():
            e = ID(r.choice(entities))
            at = ID.of(*e.parts, time=r.randrange(12) * 1_000_000_000)
            return r.choice([at, at, at, at / r.randrange(3), at / r.randrange(3), e, e, ID("/".join(e.parts[:r.randrange(1, 4)])),
                             ID.of("GeneralPurpose", "Any", provider, "never/was"), ID("Nowhere/a/b/c"), ID("elsewhere:Object/a/b/c")])

        def part():
            return {"of": target(), "text": "Speech/Text/a/b"}

        def value(core):
            some = [target() for _ in range(r.randrange(3))]
            if core == "Linked":
                return {"number": 7, "one": r.choice([None, target()]), "list": some, "lists": [some, [], some[:1]], "dict": {'k"\n': target(), "é": target()},
                        "tuple": (3, target()), "parts": [part(), part()], "named": {"p": part()}, "any": {"x": [target()], "no": "Speech/Text/a/b"},
                        "image": engram.image(np.zeros((2, 2, 3), np.uint8))}
            if core == "Deep":
                return {"by_number": {-3: target()}, "by_flag": {True: target()}, "below": [{"below": [{"to": target()}]}, {"text": "Speech"}]}
            if core == "Execution":
                return {"skill": target(), "parent": target(), "cause": target(), "parameters": {"to": some}}
            if core == "Proprioception":
                return {"position": [0.5] * 1000}
            return r.choice([{"to": some, "é\t": {"deep": [[t] for t in some]}}, some, "Speech/Text/a/b"])

        for _ in range(80):
            e = ID(r.choice(entities))
            several = 1 if e.memory == "Skill" else 1 + r.randrange(2)
            self.m.commit(e, instances=[value(e.core_segment) for _ in range(several)], time=Time(r.randrange(12) * 1_000_000_000))
        there = self.m.query([f"*/*/{provider}"], all=True)
        nodes = activities = missing = cut = 0
        for i in range(self.rounds):
            s = r.choice(there)
            root = r.choice([s.id, s.id, s.entity, s[r.randrange(len(s))].id])
            options = [{}, {}, {"depth": r.randrange(1, 4)}, {"nodes": r.randrange(1, 20)}, {"memories": r.choice([["Skill"], ["~G.*", "*:Skill"], ["*"]])},
                       {"as-of": str(int(max(s.arrived, r.choice(there).arrived)))}][i % 6]
            for down in ({}, {"down": True}):
                t = self.compare(root, **options, **down)
                nodes, cut = nodes + len(t.nodes), cut + t.cut
                activities += sum(n.is_activity for n in t.nodes)
                missing += sum(bool(n.missing) for n in t.nodes)
                self.assertFalse([n for n in t.nodes if n.type.startswith("engram.robot") and n.snapshots[0][0].data])
        if self.seed == 5:
            self.assertGreater(min(nodes // 10, activities, missing, cut), 10)

    def test_tells_what_the_command_line_finds(self):
        """They can differ."""
        a, b = self.entity("GeneralPurpose/Any"), self.entity("GeneralPurpose/Any")
        cause = self.m.commit(a, {}, time=Time(5))
        self.m.commit(b, {"to": cause}, time=Time(6))
        with mock.patch.object(_links, "links", lambda t, data: []), self.assertRaises(AssertionError):
            self.compare(b)
        self.compare(b)

    def test_as_of(self):
        a, b = self.entity("GeneralPurpose/Any"), self.entity("GeneralPurpose/Any")
        self.m.commit(a, {}, time=Time(5))
        first = self.m.get(self.m.commit(b, {"to": ID(a)}, time=Time(6)))
        self.m.commit(b, {}, time=Time(6))
        self.assertEqual(len(self.m.trace(b).nodes), 1)
        for down, root in (False, b), (True, a):
            self.assertEqual({n.id.entity for n in self.m.trace(root, down=down, as_of=first.arrived).nodes}, {a, b})

    def test_an_image_is_not_fetched(self):
        image = self.m.commit(self.entity("Vision/ImageRGB"), engram.image(np.zeros((300, 500, 3), np.uint8)))
        cup = self.m.commit(self.entity("Object/Instance"), {"frame_id": "map", "source_image": image})
        for _ in range(2):
            t = self.m.trace(cup)
            self.assertEqual([(n.id, len(n.snapshots[0][0].data) > 0) for n in t.nodes], [(cup, True), (image, False)])
        down = self.m.trace(image, down=True)
        self.assertEqual([(n.id, len(n.snapshots[0][0].data) > 0) for n in down.nodes], [(image, False), (cup, True)])
        self.assertEqual(down.links, [traces.Link(cup, image, "source_image", image)])

    def test_asks_level_by_level(self):
        """As many links away cost as many requests, however many there are of each."""
        provider, wide = type(self).__name__ + "-wide", 200
        for level in range(4):
            for i in range(wide):
                to = [ID(f"GeneralPurpose/Any/{provider}/{level - 1}-{k % wide}") for k in (i, i + 1)] if level else []
                self.m.commit(f"GeneralPurpose/Any/{provider}/{level}-{i}", {"to": to}, time=Time(level))
        self.m.commit(f"GeneralPurpose/Any/{provider}/root", {"to": [ID(f"GeneralPurpose/Any/{provider}/3-{i}") for i in range(wide)]}, time=Time(9))
        with mock.patch.object(self.m, "_read", side_effect=self.m._read) as asked:
            t = self.m.trace(f"GeneralPurpose/Any/{provider}/root")
        self.assertEqual((len(t.nodes), len(t.links), t.cut), (1 + 4 * wide, wide + 3 * 2 * wide, 0))
        self.assertLessEqual(asked.call_count, 2 * 6)
        self.assertEqual(len(self.m.trace(f"GeneralPurpose/Any/{provider}/0-0", down=True).nodes), 1 + 2 + 3 + 4 + 1)

    def test_looks(self):
        heard, command, run_ = self.entity("Speech/Text"), self.entity("Speech/Command"), self.entity("Skill/Execution")
        text = self.m.commit(heard, {"text": "bring the cup"}, time=Time(1_000_000_000))
        self.m.commit(command, {"text": "bring the cup", "source_text": text}, time=Time(2_000_000_000))
        self.m.commit(run_, {"skill": ID("Skill/Description/a/b"), "cause": ID(command), "parent": ID(run_)}, time=Time(3_000_000_000))
        self.m.commit(run_, {"skill": ID("Skill/Description/a/b"), "cause": ID(command)}, time=Time(5_500_000_000))
        t = self.m.trace(run_)
        shown = run("trace", run_, address=self.server.socket).splitlines()
        lines = str(t).splitlines()
        self.assertEqual([line.split("  ")[0] for line in lines], [line.split("  ")[0] for line in shown])
        self.assertEqual(lines[1].split("  ")[-1], "to 00:00:05.500: engram.skill.Execution")
        self.assertTrue(any(line.endswith("! not there") for line in lines))
        self.assertEqual(repr(t), f"<Trace up from {run_}: 4 nodes, {len(t.links)} links>")
        self.assertEqual(html.unescape(t._repr_html_()), f"<pre>{t}</pre>")
        self.assertIn("… 1 more", str(self.m.trace(command, nodes=1)))
        odd = self.entity("GeneralPurpose/Any") + "\n\x1b[31m"
        self.m.commit(odd, {"to": ID(heard)})
        self.assertTrue(all(line.isprintable() for line in str(self.m.trace(odd)).splitlines()))
        circle = self.m.commit(odd, {"to": ID(odd)})
        self.assertEqual(str(self.m.trace(circle)).count("(as above)"), 1)

    def test_refusals(self):
        root = self.m.commit(self.entity("GeneralPurpose/Any"), {}, time=Time(5))
        for error, id, options in [
            (engram.Invalid, "GeneralPurpose/Any/p", {}), (engram.Invalid, "", {}), (engram.Invalid, f"{root}/0/0", {}), (engram.Invalid, 5, {}),
            (engram.Invalid, "GeneralPurpose//p/x", {}), (engram.Invalid, root, {"depth": 0}), (engram.Invalid, root, {"nodes": -1}),
            (engram.Invalid, root, {"depth": "5"}), (engram.Invalid, root, {"memories": "GeneralPurpose/Any"}), (engram.Invalid, root, {"memories": ["~("]}),
            (engram.Invalid, root, {"memories": [""]}), (engram.Invalid, root, {"target": "disk"}),
            (engram.NotFound, f"{root}/1", {}), (engram.NotFound, "GeneralPurpose/Any/p/never", {}), (engram.NotFound, "Nope/x/y/z", {}),
            (engram.Unavailable, "nobody:Object/x/y/z", {}), (engram.Unavailable, root, {"memories": "nobody:Object", "down": True})]:
            with self.subTest(f"{id} {options}"), self.assertRaises(error):
                self.m.trace(id, **options)
        self.assertEqual(len(self.m.trace(root, down=True, memories="Nope").nodes), 1)
        with self.assertRaises(subprocess.CalledProcessError):
            run("trace", "Nope/x/y/z", address=self.server.socket)

    def test_what_is_gone(self):
        core = f"GeneralPurpose/Short{type(self).__name__}"
        self.m.add_segment(core, max_count=2)
        old, *_ = [self.m.commit(f"{core}/p/a", {}, time=Time(i)) for i in (1, 2, 3)]
        root = self.m.commit(self.entity("GeneralPurpose/Any"), {"to": [old, ID(f"{core}/p/a") / Time(9)]}, time=Time(9))
        self.assertEqual([n.missing for n in self.m.trace(root).nodes], ["", "evicted", "not there"])
        self.compare(root)
        with self.assertRaises(engram.TooOld):
            self.m.trace(old)

    def test_asynchronously(self):
        root = self.m.commit(self.entity("GeneralPurpose/Any"), {"to": ID("GeneralPurpose")})

        async def trace():
            async with engram.aio.connect(self.address()) as m:
                return await m.trace(root)

        self.assertEqual([n.id for n in asyncio.run(trace()).nodes], [root, "GeneralPurpose"])


class TracesOverGRPC(Traces):
    rounds = 12
    seed = 5

    @classmethod
    def address(cls):
        return cls.server.http


class Links(unittest.TestCase):
    def test_texts(self):
        """A link's text is read as Go reads IDs."""
        for text, want in [
            ("A", "A"), ("A/B/c/d", "A/B/c/d"), (r"A/B/c/d\/e\\", r"A/B/c/d\/e\\"), ("A/B/c/d/5", "A/B/c/d/1970-01-01 00:00:00.000000005"),
            ("A/B/c/d/2026-05-01T12:00:00Z/0", "A/B/c/d/2026-05-01 12:00:00/0"), ("A/B/c/d/2026-05-01 12:00:00.000000", "A/B/c/d/2026-05-01 12:00:00"),
            ("", None), ("/A", None), ("A/", None), ("A//c", None), (r"A\n", None), ("A/B/c/d/now", None), ("A/B/c/d/ 5", None), ("A/B/c/d/5/00", None),
            ("A/B/c/d/5/-1", None), ("A/B/c/d/5/2147483648", None), ("A/B/c/d/5/0/0", None), ("A/B/c/d/1e3", None), ("A\0", None), ("x" * 513, None),
            ("A/B/c/d/99999999999999999999", None), ("A/B/c/d/2026-05-01T12:00:00", None), ("A/B/c/d/2026-02-30 12:00:00", None)]:
            self.assertEqual(_links.read(text), want, text)


class Robots(Fleet):
    def test_over_robots(self):
        """Links in the memory of another robot are to what they name there, and lead from one to the other."""
        with engram.connect(self.scout.socket) as scout:
            until(lambda: {"rover:Speech", "rover:Object"} <= set(scout.memories()))
            text, seen = ID("Speech/Text/trace/said"), ID("Object/Instance/trace/cup")
            self.m.commit(text, {"text": "bring it"}, time=Time(1))
            scout.commit(seen, {"frame_id": "map", "attachment": ID(f"rover:{text}")}, time=Time(2))
            scout.commit("Speech/Command/trace/own", {"text": "x", "source_text": seen}, time=Time(3))
            self.m.commit("Speech/Command/trace/last", {"text": "y", "source_text": ID("scout:Speech/Command/trace/own")}, time=Time(4))
            up = [n.id.entity for n in self.m.trace("Speech/Command/trace/last").nodes]
            self.assertEqual(up, ["Speech/Command/trace/last", "scout:Speech/Command/trace/own", f"scout:{seen}", text])
            self.assertEqual([n.id.entity for n in self.m.trace("rover:Speech/Command/trace/last").nodes], up)
            down = [n.id.entity for n in self.m.trace(text, down=True, memories=["*", "*:*"]).nodes]
            self.assertEqual(down, [*reversed(up)])
            self.assertEqual([n.id.entity for n in self.m.trace(text, down=True).nodes], [text])
            there = [n.id.entity for n in scout.trace("rover:Speech/Command/trace/last").nodes]
            self.assertEqual(there, ["rover:Speech/Command/trace/last", "Speech/Command/trace/own", seen, f"rover:{text}"])
            for address, memories in (self.rover.socket, "*,*:*"), (self.scout.socket, "*:*"):
                with engram.connect(address) as m:
                    for root in [n.id for n in m.trace("Speech/Command/trace/last" if m.robot == "rover" else there[0]).nodes]:
                        for down in (False, True):
                            t = json.loads(run("trace", root, "-o", "json", *(["--down", f"--memories={memories}"] if down else []), address=address))
                            got = m.trace(root, down=down, memories=memories.split(",") if down else ())
                            self.assertEqual([place(n.id) for n in got.nodes], [place(n["id"]) for n in t["nodes"]], (m.robot, root, down))

    def test_what_is_away(self):
        """What a server has that is away is unreachable; the rest of the trace is there."""
        third = self.serve("--backbone", self.second.flags[1], "--memory", "Navigation", "--name", "third")
        until(lambda: "Navigation" in self.m.memories())
        self.m.add_segment("Navigation/Any")
        text = self.m.commit("Speech/Text/trace/away", {"text": "x"}, time=Time(1))
        gone = self.m.commit("Navigation/Any/trace/gone", {"to": text}, time=Time(2))
        self.m.commit("Speech/Command/trace/both", {"text": "y", "source_text": gone}, time=Time(3))

        def nodes(root, **options):
            return [(n.id.entity, n.missing) for n in self.m.trace(root, **options).nodes]

        entities = ["Speech/Command/trace/both", gone.entity, text.entity]
        self.assertEqual(nodes(entities[0]), [(e, "") for e in entities])
        third.stop()
        until(lambda: nodes(entities[0]) == [(entities[0], ""), (gone.entity, "unreachable")])
        with self.assertRaises(engram.Unavailable):
            self.m.trace(gone)


if __name__ == "__main__":
    assert BINARY
    unittest.main()
