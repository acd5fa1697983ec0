"""What is weighed once is not weighed again until it is forgotten."""

from compactlab.sim.core.blocks import forget_blocks
from compactlab.sim.core.message import Message, remembered
from tests.sim.drawn import sized


def test_a_message_is_weighed_once_and_its_equal_for_itself():
    seen = []

    @remembered
    def weigh(message: Message) -> int:
        seen.append(id(message))
        return len(message.parts)

    one, equal = sized("m", 1, 2), sized("m", 1, 2)
    assert [weigh(message) for message in (one, equal, one)] == [2, 2, 2]
    assert seen == [id(one), id(equal)]
    forget_blocks()
    assert weigh(one) == 2
    assert len(seen) == 3
