"""Searching: the right function first, scores that mean what they say, the same answer every time."""

import json
import subprocess
import sys
from dataclasses import replace

import lancedb
import numpy as np
import pyarrow as pa
import pytest

from weft.bcsd.components.identify import identify
from weft.bcsd.disassemble.native import EXTRACTOR_VERSION
from weft.bcsd.index import update
from weft.bcsd.index.description import read_description
from weft.bcsd.index.store import FunctionStore
from weft.bcsd.index.update import in_step
from weft.bcsd.represent.operations import operation_rows
from weft.bcsd.represent.sketch import DIMENSION
from weft.bcsd.use.alone import fits
from weft.bcsd.use.embed_files import embedder_of
from weft.bcsd.use.embed_one import embed_one
from weft.bcsd.use.embedded import embeddings_of, lexical_of
from weft.bcsd.use.score import ScoreWeights, hybrid
from weft.bcsd.use.search.answers import sure_enough
from weft.bcsd.use.search.files import search_file
from weft.bcsd.use.search.searcher import HIGHEST, Searcher
from weft.errors import InputError, WeftError


@pytest.fixture
def naming(monkeypatch):
    """As if the index named a library, of which no function is one."""
    sizes = {("z", "1.3", "z-dev"): 1}
    monkeypatch.setattr("weft.bcsd.components.identify.library_sizes", lambda index: sizes)


def test_a_path_may_be_a_text_or_a_path(built, options, naming):
    file, index = built / "in" / "gcc-O2-x86_64.so", built / "index"
    found = [
        [answer.hits for answer in search_file(*given, options, count=2).answers]
        for given in ((str(file), "dense", str(index)), (file, "dense", index))
    ]
    assert found[0] == found[1]
    assert found[0][0][0].name == "dense"
    assert identify(file, str(index), options).path == str(file)


def test_hits_of_a_whole_file_that_may_be_chance_are_doubted(built, options, monkeypatch, naming):
    file, index = built / "in" / "gcc-O2-x86_64.so", built / "index"
    before = search_file(file, None, index, options).remarks
    monkeypatch.setattr("weft.bcsd.use.search.doubts.MANY", 1)
    monkeypatch.setattr("weft.bcsd.use.search.doubts.FEW", 2.0)
    monkeypatch.setattr("weft.bcsd.use.search.doubts.HALF", 0.0)
    found = search_file(file, None, index, options)
    said = found.remarks[len(before) :]
    assert found.remarks[: len(before)] == before
    assert said
    assert all("may be chance" in remark for remark in said)
    assert list(found.answers)
    assert search_file(file, "dense", index, options).remarks == before
    # What libraries are named is doubted once, and none is here.
    assert identify(file, index, options).remarks == before


@pytest.fixture(scope="module")
def searcher(built, options):
    embedder = embedder_of(options.model, options.precision)
    return Searcher.open(built / "index", embedder.weights, embedder.version)


@pytest.fixture(scope="module")
def queries(built, options):
    return embed_one(str(built / "in" / "gcc-O2-x86_64.so"), options)


def test_a_function_of_the_index_is_found_by_its_bytes(searcher, queries, built):
    answers = list(searcher.search(queries, 5, 1))
    assert len(answers) == queries.num_rows
    for answer in answers:
        first = answer.hits[0]
        assert (first.score, first.rank, first.name) == (1.0, 1, answer.name)
        assert "same_bytes" in first.flags
        for hit in answer.hits:
            assert (hit.score == 1.0) == ("same_bytes" in hit.flags)
        scores = [hit.score for hit in answer.hits]
        assert scores == sorted(scores, reverse=True)
        assert [hit.rank for hit in answer.hits] == list(range(1, len(scores) + 1))


def test_equal_vectors_do_not_make_a_score_of_one(searcher, queries):
    column = queries.schema.get_field_index("digest")
    other_bytes = queries.set_column(column, "digest", [["other bytes"] * queries.num_rows])
    for answer in searcher.search(other_bytes, 5, 1):
        assert all(hit.score <= HIGHEST for hit in answer.hits)
        assert not any("same_bytes" in hit.flags for hit in answer.hits)
        assert any("same_tokens" in hit.flags for hit in answer.hits)


def test_small_functions_are_marked_and_passed_over(searcher, queries):
    large = queries.filter(np.array(queries["num_blocks"]) >= 5)
    for answer in searcher.search(large, 50):
        assert min(hit.blocks for hit in answer.hits) >= 5
        assert all("low_confidence" not in hit.flags for hit in answer.hits)
    small = queries.filter(np.array(queries["num_blocks"]) < 5)
    for answer in searcher.search(small, 50):
        assert "small" in answer.flags
        assert all("low_confidence" in hit.flags and hit.confidence <= 0.25 for hit in answer.hits)
        assert min(hit.blocks for hit in answer.hits) >= min(5, answer.blocks)


def test_answers_are_the_same_every_time(searcher, queries, built, options):
    again = Searcher.open(built / "index", searcher.weights, embedder_of(options.model, "fp32").version)
    assert list(searcher.search(queries, 7, 1)) == list(again.search(queries, 7, 1))


def test_alone_the_score_is_plain_and_among_others_that_of_the_hybrid(make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    rows = make_rows("/a", 60)
    store.replace(rows)
    weights = ScoreWeights(lexical=0.3, hubness=0.6, neighbours=4)
    queries = make_rows("/q", 12, seed=5)
    parts = embeddings_of(queries), embeddings_of(rows), lexical_of(queries), lexical_of(rows)
    searcher = Searcher(store, weights)
    alone = searcher.search(queries.slice(0, 1), 60, 0)
    for answers, expected in (
        (list(alone), hybrid(*parts, replace(weights, hubness=0.0))[:1]),
        (list(searcher.search(queries, 60, 0)), hybrid(*parts, weights)),
    ):
        assert len(answers) == len(expected)
        for answer, scores in zip(answers, expected, strict=True):
            assert [hit.name for hit in answer.hits] == [f"f{number}" for number in np.argsort(-scores)]
            assert answer.hits[0].score == pytest.approx(min(float(scores.max()), HIGHEST), abs=1e-4)


def test_the_approximate_index_gives_the_same_best_hits(make_rows, tmp_path):
    centres = np.random.default_rng(1).standard_normal((50, 16))
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    store.replace(make_rows("/a", 2000, centres=centres))
    store.tidy(exact_rows=500)
    queries = make_rows("/q", 20, seed=2, centres=centres)
    exact = Searcher(store, ScoreWeights(), exact_rows=5000)
    near = Searcher(store, ScoreWeights(), exact_rows=500)
    assert exact.exact
    assert not near.exact
    same = 0
    for one, other in zip(exact.search(queries), near.search(queries), strict=True):
        same += len({hit.name for hit in one.hits} & {hit.name for hit in other.hits})
    assert same / 200 >= 0.95


def with_sketches(rows, seed):
    """The rows with drawn sketches, as if they had been lifted."""
    vectors = np.random.default_rng(seed).standard_normal((rows.num_rows, DIMENSION))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    for name, values in (("sketch", list(vectors.astype(np.float16))), ("operations", [[1]] * rows.num_rows)):
        place = rows.schema.get_field_index(name)
        field = rows.schema.field(place)
        rows = rows.set_column(place, field, pa.array(values, field.type))
    return rows, vectors.astype(np.float32)


@pytest.mark.parametrize("exact_rows", [5000, 500])
def test_what_is_near_by_its_sketch_alone_is_a_candidate(exact_rows, make_rows, tmp_path):
    store = FunctionStore.open_or_create(tmp_path, 16, "v")
    rows, vectors = with_sketches(make_rows("/a", 2000), 0)
    store.replace(rows)
    store.tidy(exact_rows=500)
    searcher = Searcher(store, ScoreWeights(operations=2.0), exact_rows=exact_rows)
    assert searcher.exact == (exact_rows == 5000)
    wanted = np.flatnonzero(np.array(rows["num_blocks"]) >= 5)[:20]
    queries = embeddings_of(make_rows("/q", 20, seed=3))
    least = np.full(20, 5)
    places = {name: number for number, name in enumerate(rows["name"].to_pylist())}
    found = 0
    for ids, row in zip(searcher.candidates(queries, least, 10, vectors[wanted]), wanted, strict=True):
        names = store.take(ids.tolist())["name"].to_pylist()
        found += places[f"f{row}"] in {places[name] for name in names}
    assert found >= 19
    assert sum(len(ids) for ids in searcher.candidates(queries, least, 10)) == 200


def test_many_that_have_nothing_to_do_with_each_other_are_answered_as_each_alone(searcher, queries):
    assert queries.num_rows >= 10
    alone = [
        answer for row in range(queries.num_rows) for answer in searcher.search(queries.slice(row, 1), 5, 1)
    ]
    assert list(searcher.search(queries, 5, 1, apart=True)) == alone
    assert list(searcher.search(queries, 5, 1)) != alone


def test_an_index_in_memory_gives_the_same_answers(searcher, queries):
    held = Searcher(searcher.store, searcher.weights, presence=searcher.presence, resident=True)
    assert list(held.search(queries, 7, 1)) == list(searcher.search(queries, 7, 1))


def test_what_is_remembered_of_candidates_is_forgotten_when_it_is_too_much(searcher, queries, monkeypatch):
    monkeypatch.setattr("weft.bcsd.use.search.surroundings.REMEMBERED", 30)
    few = Searcher(searcher.store, searcher.weights, presence=searcher.presence)
    assert list(few.search(queries, 7, 1)) == list(searcher.search(queries, 7, 1))


def test_nothing_to_search_for(searcher, queries):
    with pytest.raises(InputError, match="no function to search for"):
        list(searcher.search(queries.slice(0, 0)))


def test_what_is_less_sure_is_left_out(searcher, queries):
    everything = list(searcher.search(queries, 5, 1))
    least = float(np.median([hit.confidence for answer in everything for hit in answer.hits]))
    some = list(sure_enough(everything, least))
    assert [answer.name for answer in some] == [answer.name for answer in everything]
    for answer, whole in zip(some, everything, strict=True):
        assert answer.hits == [hit for hit in whole.hits if hit.confidence >= least]
    assert sum(len(answer.hits) for answer in some) < sum(len(answer.hits) for answer in everything)


def test_every_answer_says_how_sure_it_is_that_nothing_is_it(searcher, queries):
    for answer in searcher.search(queries, 5, 1):
        if answer.blocks < 5:
            assert answer.not_here is None
        else:
            assert 0 <= answer.not_here <= 1 - answer.hits[0].confidence + 1e-3


def test_a_function_alone_and_among_others_of_its_file(searcher, queries):
    large = queries.filter(np.array(queries["num_blocks"]) >= 5)
    (alone,) = searcher.search(large.slice(0, 1), 5, 1)
    asked = [answer for answer in searcher.search(queries, 5, 1) if answer.name == alone.name]
    together = asked[0]
    assert alone.hits[0].name == together.hits[0].name
    assert [hit.score for hit in alone.hits] != [hit.score for hit in together.hits]
    assert [hit.confidence for hit in alone.hits] != [hit.confidence for hit in together.hits]


def test_rows_of_an_index_hold_what_functions_compute(built, queries):
    store = FunctionStore.open(built / "index")
    rows = store.take(store.sample(50, 1))
    assert operation_rows(rows).present.all()
    assert operation_rows(queries).present.all()


def test_an_index_of_before_there_were_callees_is_searched_and_added_to_without_them(
    copied, built, options, queries
):
    before = {"inlined_operations", "inlined_tokens", "inlined_values", "sketch", "calls", "called_imports"}
    description = json.loads((copied / "index.json").read_text())
    assert (description.pop("inlined"), description.pop("calls")) == (1, 1)
    assert description.pop("extractor") == EXTRACTOR_VERSION
    (copied / "index.json").write_text(json.dumps(description))
    assert in_step(built / "index", options).callees
    assert in_step(built / "index", options).calls
    assert not in_step(copied, options).callees
    assert not in_step(copied, options).calls
    assert read_description(copied).extractor == 0
    lancedb.connect(copied).open_table("functions").drop_columns(sorted(before))
    embedder = embedder_of(options.model, options.precision)
    searcher = Searcher.open(copied, embedder.weights, embedder.version)
    bare = queries.drop_columns(sorted(before))
    assert [answer.hits for answer in searcher.search(queries, 5, 1)] == [
        answer.hits for answer in searcher.search(bare, 5, 1)
    ]
    (changed,) = update.add([str(built / "in" / "gcc-O2-x86_64.so")], copied, replace(options, min_blocks=3))
    assert changed.status in ("updated", "added", "unchanged")
    assert before.isdisjoint(FunctionStore.open(copied).rows().column_names)


def test_rows_of_an_index_are_blended_with_callees(built, queries):
    rows = FunctionStore.open(built / "index").rows()
    assert lexical_of(rows).known.all()
    assert operation_rows(rows).known.all()
    parts = lexical_of(queries)
    assert (parts.blended != parts.own).nnz


def test_two_processes_give_what_one_gives(built, options):
    path = str(built / "in" / "gcc-O2-x86_64.so")
    whole, told = embed_one(path, options), []
    parted = embed_one(path, replace(options, once=True), None, told)
    assert parted.equals(whole)
    name = whole["name"][3].as_py()
    one = embed_one(path, replace(options, once=True), name)
    assert one.num_rows == 1
    assert one["name"][0].as_py() == name
    other = embed_one(path, options, name)
    np.testing.assert_allclose(embeddings_of(one), embeddings_of(other), atol=1e-6)
    assert one.drop_columns("embedding").equals(other.drop_columns("embedding"))
    assert one.schema.metadata == other.schema.metadata


def test_one_function_is_embedded_without_torch(built, options):
    path = str(built / "in" / "gcc-O2-x86_64.so")
    script = f"""if True:
        import sys
        from weft.bcsd.use import embed_one as one
        from weft.bcsd.use.embed_files import Embedding
        part = one._Extracted({path!r}, "", {str(built / "one.parquet")!r}, "entry")
        one._embed_alone(Embedding({options.model!r}, once=True), part)
        print("torch" in sys.modules, "numpy.f2py.crackfortran" in sys.modules)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_a_model_of_another_shape_or_in_half_precision_takes_two_processes(built, options):
    path, name = str(built / "in" / "gcc-O2-x86_64.so"), "entry"
    assert fits(options.model, "fp32")
    assert fits(options.model, "auto")
    assert not fits(options.model, "bf16")
    half = replace(options, once=True, precision="bf16")
    found, exact = embed_one(path, half, name), embed_one(path, replace(options, once=True), name)
    np.testing.assert_allclose(embeddings_of(found), embeddings_of(exact), atol=0.02)
    assert not found["embedding"].equals(exact["embedding"])


def test_what_is_wrong_with_a_file_is_told_by_either_of_two_processes(built, options, tmp_path):
    once = replace(options, once=True)
    broken = tmp_path / "broken.so"
    broken.write_bytes((built / "in" / "gcc-O2-x86_64.so").read_bytes()[:100])
    with pytest.raises(InputError, match=r"broken\.so"):
        embed_one(str(broken), once)
    with pytest.raises(InputError, match="no_such_function"):
        embed_one(str(built / "in" / "gcc-O2-x86_64.so"), once, "no_such_function")
    with pytest.raises(WeftError, match="nowhere"):
        embed_one(str(built / "in" / "gcc-O2-x86_64.so"), replace(once, model=str(tmp_path / "nowhere")))
