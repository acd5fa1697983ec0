"""Half of a pair of surrogates, which UTF-8 has not, costs no table."""

import io

import numpy as np
import pyarrow.parquet as pq

from compactlab.sim.store.parquet import Column, packed


def test_half_a_character_is_stored_as_a_question_mark():
    texts = np.array(["whole", "half \ud83d"], object)
    content = packed({"said": Column("text", "what is said")}, {"said": texts})
    assert pq.read_table(io.BytesIO(content))["said"].to_pylist() == ["whole", "half ?"]


def test_nor_does_it_cost_a_list_of_texts():
    column = Column("texts", "what was said")
    content = packed(
        {"said": column}, {"said": column.array([["whole"], [], ["half \ud83d", "x"]])}
    )
    lists = pq.read_table(io.BytesIO(content))["said"].to_pylist()
    assert lists == [["whole"], [], ["half ?", "x"]]
