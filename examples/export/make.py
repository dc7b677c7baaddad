"""Makes every committed file of examples/ again: models, table of operators, reference data.

    python make.py            # all
    python make.py models     # the models and the table only
"""

import sys

import torch

import op_table
from fixtures import DROPOUT, EXAMPLES, FIXTURES


def _models() -> None:
    for fixture in FIXTURES:
        for perturbed in (False, True)[: 1 + fixture.perturbed]:
            path = fixture.path(perturbed)
            path.parent.mkdir(exist_ok=True)
            fixture.write(fixture.family.module(DROPOUT, perturbed), path)
    op_table.write([fixture.path() for fixture in FIXTURES], EXAMPLES / "models" / "README.md")


if __name__ == "__main__":
    torch.set_num_threads(1)
    _models()
    if sys.argv[1:] != ["models"]:
        import reference

        reference.write_all()
