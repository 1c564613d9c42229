"""Move the results of a release into results/archive, one file for its runs and one for its policies and logs.

    python tools/archive_results.py 0.3.0

results/runs.sqlite.xz becomes results/archive/0.3.0-runs.sqlite.xz, results/policies/ 0.3.0-policies.tar.xz; SHA256SUMS
lists all archives. The same files give the same bytes. An archive that is there is not replaced.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import lzma
import shutil
import tarfile
from pathlib import Path

from meco.bench.run.campaign_folder import PACKED_FILE
from meco.errors import InvalidInput
from meco.files.archive import ARCHIVE_FOLDER, SUMS

RESULTS = Path(__file__).parents[1] / "results"


def pack_folder(folder: Path) -> bytes:
    """The files of a folder as a tar file under xz, without times and owners."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            member = tarfile.TarInfo(path.name)
            member.size = path.stat().st_size
            archive.addfile(member, io.BytesIO(path.read_bytes()))
    return lzma.compress(content.getvalue(), preset=9 | lzma.PRESET_EXTREME)


def write_sums(folder: Path) -> None:
    """Write SHA256SUMS of every archive in a folder, in the form that sha256sum --check reads."""
    archives = sorted(path for path in folder.iterdir() if path.suffix == ".xz")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in archives]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def archive_results(results: Path, version: str) -> list[Path]:
    """Move runs and policies of a results folder into its archive; the archives made."""
    folder = results / ARCHIVE_FOLDER
    folder.mkdir(exist_ok=True)
    runs, policies = results / PACKED_FILE, results / "policies"
    made = []
    for source, name in ((runs, f"{version}-{PACKED_FILE}"), (policies, f"{version}-policies.tar.xz")):
        if not source.exists():
            continue
        target = folder / name
        if target.exists():
            raise InvalidInput(f"{target} is there already; an archive is never replaced")
        target.write_bytes(source.read_bytes() if source.is_file() else pack_folder(source))
        source.unlink() if source.is_file() else shutil.rmtree(source)
        made.append(target)
    write_sums(folder)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="of the release, such as 0.3.0")
    for path in archive_results(RESULTS, parser.parse_args().version):
        print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
