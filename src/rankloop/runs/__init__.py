"""Long work: jobs of many units, one runner for any executor, one store, one watcher."""

from rankloop.runs.job import Advance, Job, Run, Stopped, Work
from rankloop.runs.runner import Runner
from rankloop.runs.store import Folder, Store
from rankloop.runs.watcher import Bar, Display, Lines, Silent, Status, Watcher, display

__all__ = [
    "Advance",
    "Bar",
    "Display",
    "Folder",
    "Job",
    "Lines",
    "Run",
    "Runner",
    "Silent",
    "Status",
    "Stopped",
    "Store",
    "Watcher",
    "Work",
    "display",
]
