"""A program that executes the notebook with a label selector, and prints what it computes.

python notebook.py NOTEBOOK ADDRESS SELECTOR

It prints the results as a line of JSON.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import nbformat
from nbclient import NotebookClient
from steps import report

RESULTS = """
import json

def frame(found):
    return json.loads(found.to_json(orient="index"))

print(json.dumps({
    "placement": frame(placement),
    "nodes": frame(per_node),
    "namespaces": frame(per_namespace),
    "restarts": frame(restarts.set_index("name")[["node", "restarts"]]),
    "images": json.loads(images.to_json()),
    "types": pods.dtypes.astype(str).to_dict(),
}))
"""


def main(path: str, address: str, selector: str) -> None:
    """Execute the notebook with its results as the last cell."""
    os.environ["KUBECONNECT_ADDRESS"] = address
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    (parameters,) = [
        cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])
    ]
    parameters.source = f"selector = {selector!r}"
    shown = list(notebook.cells)
    last = nbformat.v4.new_code_cell(RESULTS)  # type: ignore[no-untyped-call]
    notebook.cells.append(last)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (printed,) = last.outputs
    report(
        "executed",
        **json.loads(printed.text),
        tables=sum("<table" in html_of(each) for cell in shown for each in cell.get("outputs", [])),
    )


def html_of(output: Any) -> str:
    """Return an output of a cell as HTML; empty if it has none."""
    return str(output.get("data", {}).get("text/html", ""))


if __name__ == "__main__":
    main(*sys.argv[1:])
