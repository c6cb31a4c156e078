"""A Parquet store that a kill left half made."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.store.rows import SERVICE, answer, python
from trustgauge.store.parquet import ParquetStore

MAKER = """
import sys
from pathlib import Path
from tests.store.kills import kill_before
from trustgauge.store.parquet import ParquetStore

end = kill_before(int(sys.argv[2]), ("parquet.py", "sealing.py", "sqlite.py", "migrations.py", "lock.py"))
ParquetStore(Path(sys.argv[1])).close()
print(end())
"""


def test_a_store_that_a_kill_left_half_made_is_none(tmp_path: Path) -> None:
    """A store without its tables can be read by nobody, and a run looks into its own before it resumes."""
    with python(MAKER, str(tmp_path / "calm"), "0") as child:
        lines = int(child.communicate()[0])
    assert lines > 50
    found = set()
    for last in range(2, lines, max(1, lines // 7)):
        path = tmp_path / f"killed-{last}" / "store.parquet"
        path.parent.mkdir()
        with python(MAKER, str(path), str(last)) as child:
            child.communicate()
        assert child.returncode == -signal.SIGKILL
        found.add(path.exists())
        if path.exists():
            with ParquetStore(path, read_only=True) as reader:
                assert not reader.present(SERVICE)
                assert reader.probes("0:chat").is_empty()
        with ParquetStore(path) as store:
            store.add([answer(number) for number in range(5)])
            store.integrity()
    assert found == {True, False}
