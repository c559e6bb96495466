"""How programs use the classes of golden_test.go: mypy --strict checks the hints, Python the rest."""

import numpy as np

from engram.payload import Duration, Image, PayloadError, Sender, Time
from golden import odd_class, odd_elsewhere
from golden.engram_example import ExampleData
from golden.lab import Color, Cup
from golden.odd_class import BookShelf, Cabinet, Names, Oak, Shelf, Tree
from golden.odd_kinds import Kinds


def refused(call: object, *words: str) -> None:
    """Checks that a call, or the writing of an object, raises an error with the words."""
    try:
        call() if callable(call) else call.to_payload()  # type: ignore[attr-defined]
    except PayloadError as e:
        assert all(word in str(e) for word in words), e
        return
    raise AssertionError(f"{call} was not refused")


# Members by their names, with hints; those that are keywords have a "_".
names = Names(class_=3, list_=[1, 2], self="me", Color_=odd_class.Color.K3d, m_hidden=0.5)
assert Names.from_payload(names.to_payload()) == names != Names()
assert names.class_ + 1 == 4 and names.empty is None
names.class_ = "three"  # type: ignore[assignment]
refused(names, "class")
try:
    Names(nothing=1)  # type: ignore[call-arg]
    raise AssertionError("a member that is not there was taken")
except TypeError:
    pass

# What extends another is one of it, but where both namespaces extend each other.
oak = Oak(left=Tree(), others={"a": Oak(acorns=[(1, 2, None)])}, grown=Duration.of(1.5), anything=[1, "x", None])
tree: Tree = oak
assert Tree.from_payload(oak.to_payload()).grown == tree.grown
shelf = Shelf(rows=[[Shelf(height=1), BookShelf(books=2)], []], inner=BookShelf(depth=3))
assert isinstance(shelf.inner, Shelf) and shelf.inner.books == 0
cabinet = Cabinet(books=3, drawers=4)
assert odd_elsewhere.Case.from_payload(cabinet.to_payload()).books == 3

# Enumerations keep numbers that they do not know.
cup = Cup(color=Color.Red, weight=float("nan"), by_name={"größe": 1})
assert Cup.from_payload(cup.to_payload()).color is Color.Red
assert int(Cup.from_payload(b"\x20\x09").color) == 9

# Arrays and images are views of the payload; another byte order is turned, what is no array is refused.
data = ExampleData(the_dynamic_matrix=np.arange(6, dtype=">i4").reshape(2, 3)).to_payload()
matrix = ExampleData.from_payload(data).the_dynamic_matrix
assert matrix is not None and matrix.dtype == "<i4" and matrix[1, 2] == 5
assert not matrix.flags.owndata and not matrix.flags.writeable
pixels = np.arange(18, dtype=np.uint8).reshape(2, 3, 3)
data = ExampleData(the_rgb_image=Image.of(pixels, "rgb8")).to_payload()
image = ExampleData.from_payload(data).the_rgb_image
assert image is not None and (image.array() == pixels).all()
assert np.shares_memory(image.array(), np.frombuffer(data, np.uint8))
refused(ExampleData(the_dynamic_matrix=np.zeros(6, np.int32)), "the_dynamic_matrix", "two dimensions")
refused(ExampleData(the_dynamic_matrix=np.array([["a"]])), "the_dynamic_matrix")
refused(ExampleData(the_duration="3 s"), "the_duration")  # type: ignore[arg-type]

# Times before 1970, texts that are no UTF-8, numbers that do not fit, two members of which one is set.
assert Kinds.from_payload(Kinds(when=Time(-1)).to_payload()).when == -1
refused(Kinds(text="\udc80"), "text", "UTF-8")
refused(lambda: Kinds.from_payload(b"\x9a\x01\x01\xff"), "text", "UTF-8")
refused(Kinds(uint32=-1), "uint32", "-1")
refused(Kinds(sint32=1 << 31), "sint32")
refused(Kinds(text="a", mode=None, when=Time(1)), "text", "when")

# A payload that is cut, of another type, or of a sender that nobody knows.
refused(lambda: Cup.from_payload(data[:-1]))
refused(lambda: Cup.from_payload(b"\x08\x01"), "name")
refused(lambda: Sender("lab.Nothing", b""), "lab.Nothing")
refused(lambda: Sender("lab.Nothing", b"\xff"), "FileDescriptorSet")
