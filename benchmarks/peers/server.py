"""A PostgreSQL server of our own for one run: a fresh folder, a unix socket, no network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

__all__ = ["Server", "no_server"]

_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
shared_buffers = 1GB
work_mem = 256MB
maintenance_work_mem = 512MB
max_parallel_workers_per_gather = 2
max_parallel_workers = 2
parallel_setup_cost = 10
parallel_tuple_cost = 0.001
min_parallel_table_scan_size = 0
jit = off
fsync = off
synchronous_commit = off
max_wal_size = 8GB
wal_level = minimal
max_wal_senders = 0
"""


def _programs() -> Path | None:
    """The folder of initdb and pg_ctl, of the newest PostgreSQL that has PostGIS."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        share = Path("/usr/share/postgresql") / folder.parent.name / "extension"
        if (folder / "initdb").exists() and (share / "postgis.control").exists():
            return folder
    return None


def no_server() -> str:
    """Why there is no server, or nothing."""
    if _programs() is None:
        return "PostgreSQL with PostGIS is not installed (apt-get install postgresql postgis)"
    if os.geteuid() == 0 and not shutil.which("runuser"):
        return "PostgreSQL does not run as root, and there is no runuser"
    return ""


class Server:
    """Started on entering, stopped and its folder removed on leaving."""

    def __init__(self) -> None:
        programs = _programs()
        assert programs is not None
        self.programs = programs
        self.folder = Path(tempfile.mkdtemp(prefix="wetgis-bench-pg-"))

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self.programs / program), *arguments]
        if os.geteuid() == 0:
            command = ["runuser", "-u", "postgres", "--", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)

    def __enter__(self) -> Server:
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        data = str(self.folder / "data")
        self._run("initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "-N")
        with (self.folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=self.folder))
        self._run("pg_ctl", "-D", data, "-w", "-l", str(self.folder / "log"), "start")
        self.pid = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        return self

    def __exit__(self, *_: object) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def address(self) -> str:
        """For psycopg."""
        return f"host={self.folder} user=postgres dbname=postgres"

    def cpu(self) -> float:
        """CPU seconds of the server and its finished processes."""
        words = Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(int(n) for n in words[11:15]) / os.sysconf("SC_CLK_TCK")
