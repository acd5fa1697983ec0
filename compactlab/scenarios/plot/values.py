"""Values that nobody guesses: at least forty random bits, and never a bare number."""

from __future__ import annotations

import random

# Two hundred and fifty-six words, so that five of them have forty bits.
_LIST = """\
acorn agate alder almond amber anchor anvil apron arbor arrow aspen atlas autumn badge baker
bamboo banjo barley basil basin basket beacon beech bell berry birch bishop bison blossom bobbin
bonnet border bottle bramble brass breeze brick bridge bristle bronze brook bugle burrow butter
button cabin cable cactus camel candle canoe canvas canyon caper caravan carbon cedar cello
chalk chapel cherry chestnut chisel cider cinder citrus clover cobalt cocoa comet copper coral
cotton cradle crane crater cricket crimson crocus crystal cypress daisy dapple delta denim
desert dolphin domino donkey dragon drum dune eagle echo elder elm ember emerald falcon fennel
fern ferry fiddle finch flint flute forest fossil fox galaxy garnet garlic geyser ginger glacier
goblet gorge granite grape gravel grove guitar hammer hamlet harp harvest hazel heather hedge
heron hickory hollow honey horizon hornet husk indigo iris island ivory ivy jackal jasmine
jasper juniper kayak kernel kettle kiln kitten lagoon lantern larch lark lattice laurel lava
lemon lentil lilac lily linen lizard llama lobster locust lotus lumber lynx magnet magpie mallet
mango maple marble marsh meadow melon mesa meteor mint mirror mitten moss mulberry mustard
nectar nettle nickel nutmeg oak oasis ocean olive onyx opal orchid osprey otter oyster paddle
palm panther papaya parsley pebble pelican pepper piano pigeon pine plum pollen poplar poppy
prairie prism puffin pumpkin quail quartz quill rabbit raft raven reed ribbon ridge robin saddle
saffron sage salmon sapphire satin sesame shale silk sorrel sparrow spruce sycamore tulip velvet
violet wagon walnut wheat whistle willow windmill wisteria yarrow zebra zinnia zither
"""
WORDS = tuple(_LIST.split())


def value(template: str, rng: random.Random, word: str) -> str:
    """Fill a template.

    Parameters
    ----------
    template
        At least one of ``{code}`` (48 bits), ``{hex}`` (40 bits, for names without hyphens) and
        ``{chain}`` (40 bits, for what is told by people) must be in it; ``{word}`` may be.
    rng
        What is drawn from.
    word
        What stands for ``{word}``: it carries no bits, so that two values may look alike.

    Examples
    --------
    >>> value("v4.{word}.{code}", random.Random(7), "otter")
    'v4.otter.f2a7-52e6-b438'
    """
    bits = rng.getrandbits(48)
    digits = f"{bits:012x}"
    return template.format(
        code=f"{digits[:4]}-{digits[4:8]}-{digits[8:]}",
        hex=digits[2:],
        chain="-".join(WORDS[bits >> shift & 255] for shift in range(0, 40, 8)),
        word=word,
    )


def unguessable(template: str) -> bool:
    """Whether what a template makes has at least forty random bits.

    Examples
    --------
    >>> unguessable("build {word}")
    False
    """
    return any(name in template for name in ("{code}", "{hex}", "{chain}"))
