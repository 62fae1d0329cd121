"""Embedding on a Ray cluster of two nodes, both on this machine: the same table as without it."""

from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from weft.bcsd.use.embed_files import embed_files


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_two_nodes_give_the_same_table(files, options, tmp_path):
    pytest.importorskip("ray", reason="needs the extra `scale`")
    import ray
    from ray.cluster_utils import Cluster

    folder = tmp_path / "in"
    folder.mkdir()
    content = (files / "gcc-O2-x86_64.so").read_bytes()
    (folder / "bad.so").write_bytes(content[:60])
    for name in ("gcc-O0-x86_64.so", "gcc-O2-x86_64.so"):
        (folder / name).write_bytes((files / name).read_bytes())
    alone = embed_files([str(folder)], tmp_path / "alone.parquet", options)
    # One processor on each node: two actors of one processor each cannot both be on one node.
    try:
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        cluster.add_node(num_cpus=1)
    except Exception as error:  # noqa: BLE001 - Ray gives a node 30 s to start and raises nothing narrower
        pytest.skip(f"Ray starts no two nodes here: {error}")
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        assert sum(node["Alive"] for node in ray.nodes()) == 2
        two = replace(options, workers=2)
        reports = embed_files([str(folder)], tmp_path / "two.parquet", two, cluster=cluster.address)
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert [(r.path, r.functions, r.error is None) for r in reports] == [
        (r.path, r.functions, r.error is None) for r in alone
    ]
    assert pq.read_table(tmp_path / "two.parquet").equals(pq.read_table(tmp_path / "alone.parquet"))
