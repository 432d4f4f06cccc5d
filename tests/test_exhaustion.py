"""Input that once hung or filled the memory: each is refused at once, in a process that has little of either."""

import resource
import subprocess
import sys
from pathlib import Path

from shell import ENVIRONMENT

SECONDS, BYTES = 60, 2 << 30

BEGIN = """
import base64, json, sqlite3, struct, sys, zlib
import zonal as zn
from zonal.study.export import _end, exported, imported
from zonal.storage.journal import _digest
box, given = zn.Box([(0, 1)]), {"budget": 9, "kernel": zn.RBF(1, 0.2), "noise": 0.1}
points = zn.Points([[0.1], [0.2], [0.3], [0.4]])


def refused(call):
    try:
        call()
    except zn.ZonalError as error:
        print(error)


def export(change):
    lines = exported(zn.Study(box, **given)).splitlines()[:-1]
    documents = list(map(json.loads, lines))
    change(documents)
    content = ("\\n".join(map(json.dumps, documents)) + "\\n").encode()
    refused(lambda: imported(content + _end(content).encode()))


def database(path, *lines, space=box):
    study = zn.Study.create(path, space, **given)
    study.tell(study.ask(), 0.3)
    connection = sqlite3.connect(path, isolation_level=None)
    for line in lines:
        connection.execute(line)
    return connection


def forged(change, space=box):
    "Open a file that somebody changed and gave the right digests, which are no secret."
    path = f"{sys.argv[1]}/{len(made)}.db"
    made.append(path)
    connection = database(path, space=space)
    when, versions, settings = connection.execute("SELECT time, versions, settings FROM study").fetchone()
    rows = connection.execute("SELECT number, time, event FROM events ORDER BY number").fetchall()
    documents = [json.loads(settings), *(json.loads(row[2]) for row in rows)]
    settings, *events = change(documents) or map(json.dumps, documents)
    digest = _digest(b"", when, versions, settings)
    connection.execute("UPDATE study SET settings = ?, digest = ?", (settings, digest))
    for (number, time, _), event in zip(rows, events):
        digest = _digest(digest, number, time, event)
        connection.execute("UPDATE events SET event = ?, digest = ? WHERE number = ?", (event, digest, number))
    connection.execute("UPDATE head SET digest = ?", (digest,))
    connection.close()
    refused(lambda: zn.Study.open(path))


def bomb(size):
    "Return so many zeros, compressed block by block."
    pack = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = pack.compress(bytes(1 << 20)) + pack.flush(zlib.Z_FULL_FLUSH)
    packed = b"x\\x9c" + block * (size >> 20) + pack.flush() + struct.pack(">I", size % 65521 << 16 | 1)
    return {"$": "array", "kind": "<f8", "shape": [size // 8, 1], "zlib": base64.b64encode(packed).decode()}


made = []
"""
CASES: dict[str, tuple[str, list[str]]] = {
    "policies a billion levels deep": (
        """
class Own(zn.GPOO):
    def depth(self, shape, budget):
        return 10**9
refused(lambda: zn.Study(box, **given, policy=zn.GPOO(h_max=10**9)))
refused(lambda: zn.StoOO(zn.GeometricDelta(1), h_max=10**9))
refused(lambda: zn.GPTree(h_max=10**9))
refused(lambda: zn.Study(box, **given, policy=Own()))
refused(lambda: zn.UCB(level=10**9))
refused(lambda: box.cell((10**9, 0)))""",
        [
            *["h_max is too large; got 1000000000. Pass 20000 at most."] * 3,
            "the policy's depth is too large; got 1000000000. Pass 20000 at most.",
            "level is too large",
            "a node is",
        ],
    ),
    "parts and points by the billion": (
        """
refused(lambda: zn.Box([(0, 1)], arity=10**9))
refused(lambda: zn.Average(10**9))
refused(lambda: zn.Study(box, **given, feedback=zn.Average(10**6)))
study = zn.Study(box, **given)
study.tell(study.ask(), 0.5)
refused(lambda: study.refine(lambda x: 0.0, budget=10**9))""",
        ["arity is too large", *["Average's s is too large"] * 2, "budget is too large"],
    ),
    "exports": (
        """
export(lambda lines: lines[1][0].update(h_max=10**6))
export(lambda lines: lines[0]["settings"]["space"].update(arity=10**9))""",
        ["h_max is too large; got 1000000.", "arity is too large; got 1000000000."],
    ),
    "files": (
        """
forged(lambda lines: lines[1][0].update(h_max=10**6))
forged(lambda lines: lines[0]["space"].update(features=bomb(2 << 30)), points)
forged(lambda lines: lines[0]["space"].update(features={**bomb(2 << 30), "shape": [4, 1]}), points)
forged(lambda lines: ["[" * 100_000 + "]" * 100_000])""",
        [
            "h_max is too large; got 1000000.",
            "arrays of more than 536870912 bytes cannot be stored in a file; this one has 2147483648.",
            "an array is not as large as it claims",
            "the settings make no sense (RecursionError",
        ],
    ),
    "databases": (
        """
view = '''CREATE VIEW events AS WITH RECURSIVE endless(number, time, event, digest) AS
    (SELECT 0, '', '', '' UNION ALL SELECT number + 1, '', '', '' FROM endless) SELECT * FROM endless'''
database(sys.argv[1] + "/view.db", "ALTER TABLE events RENAME TO kept", view)
refused(lambda: zn.Study.open(sys.argv[1] + "/view.db"))
heads = '''INSERT INTO head SELECT number, 0, '' FROM (WITH RECURSIVE many(number) AS
    (SELECT 2 UNION ALL SELECT number + 1 FROM many WHERE number < 30000) SELECT number FROM many)'''
studies = "INSERT INTO study SELECT id, digest, '', '', '' FROM head WHERE id > 1"
database(sys.argv[1] + "/rows.db", heads, studies)
refused(lambda: zn.Study.open(sys.argv[1] + "/rows.db"))""",
        ["view events, not exactly the tables of a study", "the end of its events is missing"],
    ),
}


def test_it_is_refused_at_once(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "\n".join([BEGIN, *(source for source, _ in CASES.values())]), str(tmp_path)],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES)),
    )
    wanted = [(name, words) for name, (_, says) in CASES.items() for words in says]
    for (name, words), line in zip(wanted, done.stdout.splitlines(), strict=False):
        assert words in line, name
    assert len(done.stdout.splitlines()) == len(wanted), done.stderr[-2000:]
