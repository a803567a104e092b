"""One page that tells what a model is and does, to look at and to pass on (`emu report`, docs/report.md)."""

from emu.report.facts import ModelFacts, RunFacts, model_facts
from emu.report.render import page

__all__ = ["ModelFacts", "RunFacts", "model_facts", "page"]
