"""Drawings: boxes apart, edges downward except where they close a loop, everything inside the picture."""

from hypothesis import given, settings
from hypothesis import strategies as st

from weft.bcsd.report import layout as module
from weft.bcsd.report.layout import lay_out


@st.composite
def graphs(draw):
    count = draw(st.integers(1, 9))
    block = st.integers(0, count - 1)
    edges = draw(st.lists(st.tuples(block, block), max_size=14))
    sizes = draw(st.lists(st.tuples(st.floats(10, 200), st.floats(10, 90)), min_size=count, max_size=count))
    return sizes, edges


@settings(deadline=None, max_examples=60)
@given(graphs())
def test_boxes_never_overlap_and_all_is_inside(graph):
    sizes, edges = graph
    drawn = lay_out(sizes, edges)
    assert [(box.width, box.height) for box in drawn.boxes] == sizes
    assert [(arrow.source, arrow.target) for arrow in drawn.arrows] == edges
    for number, one in enumerate(drawn.boxes):
        assert one.x >= -0.11
        assert one.x + one.width <= drawn.width + 0.11
        assert one.y + one.height <= drawn.height + 0.11
        for other in drawn.boxes[number + 1 :]:
            apart = (
                one.x + one.width <= other.x
                or other.x + other.width <= one.x
                or one.y + one.height <= other.y
                or other.y + other.height <= one.y
            )
            assert apart
    for arrow in drawn.arrows:
        assert all(-0.11 <= x <= drawn.width + 0.11 for x, _ in arrow.points)


def test_a_diamond_stands_on_its_point():
    drawn = lay_out([(40, 20)] * 4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    top, left, right, bottom = drawn.boxes
    assert top.y < left.y == right.y < bottom.y
    assert top.x == bottom.x == (left.x + right.x) / 2


def test_a_loop_is_drawn_from_its_source_upward():
    drawn = lay_out([(40, 20)] * 3, [(0, 1), (1, 2), (2, 1), (1, 1)])
    assert [box.y for box in drawn.boxes] == sorted(box.y for box in drawn.boxes)
    back = drawn.arrows[2].points
    assert back[0][1] == drawn.boxes[2].y
    assert back[-1][1] == drawn.boxes[1].y + 20
    loop = drawn.arrows[3].points
    assert max(x for x, _ in loop) > drawn.boxes[1].x + 40


def test_long_edges_pass_beside_the_boxes_between():
    drawn = lay_out([(40, 20)] * 3, [(0, 1), (1, 2), (0, 2)])
    middle = drawn.boxes[1]
    for x, y in drawn.arrows[2].points[1:-1]:
        assert not (middle.x < x < middle.x + middle.width)
        assert middle.y <= y <= middle.y + middle.height


def test_tangles_and_nothing_are_drawn_too(monkeypatch):
    assert lay_out([], []).boxes == ()
    monkeypatch.setattr(module, "_MOST_PASSING", 0)
    drawn = lay_out([(40, 20)] * 4, [(0, 1), (1, 2), (2, 3), (0, 3)])
    assert len(drawn.arrows[3].points) == 2
    chain = [(i, i + 1) for i in range(3000)]
    assert len(lay_out([(10, 10)] * 3001, chain).boxes) == 3001
