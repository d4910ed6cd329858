"""The intermediate representation: types, graph, blob store, rewriter, verifier and text form."""

from tinydeploy.ir.blobs import BlobStore, blob_of, digest_of
from tinydeploy.ir.graph import Attrs, Graph, Node, State, Value
from tinydeploy.ir.rewriter import Rewriter
from tinydeploy.ir.text import attrs_text, from_text, to_text, type_text
from tinydeploy.ir.types import Array, DType, Quant, TensorType
from tinydeploy.ir.verifier import check_quant, verify

__all__ = [
    "Array",
    "Attrs",
    "BlobStore",
    "DType",
    "Graph",
    "Node",
    "Quant",
    "Rewriter",
    "State",
    "TensorType",
    "Value",
    "attrs_text",
    "blob_of",
    "check_quant",
    "digest_of",
    "from_text",
    "to_text",
    "type_text",
    "verify",
]
