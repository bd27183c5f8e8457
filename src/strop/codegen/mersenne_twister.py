"""Bernoulli draws from a Mersenne twister, as LLVM text: the same draws as PyTorch's CPU kernel, sixteen at a time.

PyTorch draws element by element: two words of 32 bits make a number of 53, which is below p · 2^53 or not. The
twister's state is a block of 624 words that is renewed as a whole. Each word of the new block needs the word after it
and the word 397 places on, so that sixteen of them can be computed at once.

The memory that the caller gives, in words of 32 bits: the block (624, then 16 places for its first words again, so that
no vector has to wrap around) and from 640 on the words of two blocks as they are drawn.
"""

from __future__ import annotations

BLOCK = 624  # words
WORDS = 640 + 2 * BLOCK + 16  # of the caller's memory
FILL = {1: "strop_bernoulli_bytes", 4: "strop_bernoulli_floats"}  # by the bytes of an element

_AHEAD = 397
_RENEWED = 640  # where drawn words are kept
_PAIRS = BLOCK  # what two blocks give

# void advance(ptr state): the next block
_ADVANCE = f"""
define internal <16 x i32> @strop_twist(ptr %state, i64 %i, i64 %far) alwaysinline {{
  %this.at = getelementptr i32, ptr %state, i64 %i
  %this = load <16 x i32>, ptr %this.at, align 4
  %j = add i64 %i, 1
  %next.at = getelementptr i32, ptr %state, i64 %j
  %next = load <16 x i32>, ptr %next.at, align 4
  %far.at = getelementptr i32, ptr %state, i64 %far
  %other = load <16 x i32>, ptr %far.at, align 4
  %high = and <16 x i32> %this, splat (i32 -2147483648)
  %low = and <16 x i32> %next, splat (i32 2147483647)
  %mixed = or <16 x i32> %high, %low
  %half = lshr <16 x i32> %mixed, splat (i32 1)
  %bit = and <16 x i32> %next, splat (i32 1)
  %odd = sub <16 x i32> zeroinitializer, %bit
  %matrix = and <16 x i32> %odd, splat (i32 -1727483681)
  %turned = xor <16 x i32> %half, %matrix
  %new = xor <16 x i32> %turned, %other
  store <16 x i32> %new, ptr %this.at, align 4
  ret <16 x i32> %new
}}
define internal void @strop_advance(ptr %state) {{
start:
  %first = call <16 x i32> @strop_twist(ptr %state, i64 0, i64 {_AHEAD})
  %again = getelementptr i32, ptr %state, i64 {BLOCK}
  store <16 x i32> %first, ptr %again, align 4
  br label %old
old:
  %i = phi i64 [ 16, %start ], [ %i.next, %old ]
  %far = add i64 %i, {_AHEAD}
  call <16 x i32> @strop_twist(ptr %state, i64 %i, i64 %far)
  %i.next = add i64 %i, 16
  %more = icmp ult i64 %i.next, 240
  br i1 %more, label %old, label %new
new:
  %k = phi i64 [ 240, %old ], [ %k.next, %new ]
  %near = sub i64 %k, {BLOCK - _AHEAD}
  call <16 x i32> @strop_twist(ptr %state, i64 %k, i64 %near)
  %k.next = add i64 %k, 16
  %rest = icmp ult i64 %k.next, {BLOCK}
  br i1 %rest, label %new, label %done
done:
  ret void
}}
"""


def _tempered(kind: str, splat: str) -> str:
    """A word of the state as it is drawn."""

    def number(value: int) -> str:
        return f"splat (i32 {value})" if splat else str(value)

    return f"""
define internal {kind} @strop_temper{splat}({kind} %y) alwaysinline {{
  %a = lshr {kind} %y, {number(11)}
  %b = xor {kind} %y, %a
  %c = shl {kind} %b, {number(7)}
  %d = and {kind} %c, {number(0x9D2C5680 - 2**32)}
  %e = xor {kind} %b, %d
  %f = shl {kind} %e, {number(15)}
  %g = and {kind} %f, {number(0xEFC60000 - 2**32)}
  %h = xor {kind} %e, %g
  %i = lshr {kind} %h, {number(18)}
  %j = xor {kind} %h, %i
  ret {kind} %j
}}
"""


# i32 word(ptr state, ptr position); void renew(ptr state, i64 where): a block of words as they are drawn
_WORDS = f"""
define internal i32 @strop_word(ptr %state, ptr %position) {{
start:
  %before = load i64, ptr %position
  %used = icmp eq i64 %before, {BLOCK}
  br i1 %used, label %renew, label %take
renew:
  call void @strop_advance(ptr %state)
  br label %take
take:
  %at = phi i64 [ %before, %start ], [ 0, %renew ]
  %after = add i64 %at, 1
  store i64 %after, ptr %position
  %place = getelementptr i32, ptr %state, i64 %at
  %raw = load i32, ptr %place, align 4
  %word = call i32 @strop_temper(i32 %raw)
  ret i32 %word
}}
define internal void @strop_renew(ptr %state, i64 %where) {{
start:
  call void @strop_advance(ptr %state)
  %to = getelementptr i32, ptr %state, i64 %where
  br label %each
each:
  %i = phi i64 [ 0, %start ], [ %i.next, %each ]
  %from.at = getelementptr i32, ptr %state, i64 %i
  %raw = load <16 x i32>, ptr %from.at, align 4
  %word = call <16 x i32> @strop_temper.v(<16 x i32> %raw)
  %to.at = getelementptr i32, ptr %to, i64 %i
  store <16 x i32> %word, ptr %to.at, align 4
  %i.next = add i64 %i, 16
  %more = icmp ult i64 %i.next, {BLOCK}
  br i1 %more, label %each, label %done
done:
  ret void
}}
"""


def _fill(name: str, element: str, of_bit: str) -> str:
    """void fill(ptr state, ptr position, ptr out, i64 count, i64 threshold)."""
    first = ", ".join(f"i32 {2 * lane}" for lane in range(16))
    second = ", ".join(f"i32 {2 * lane + 1}" for lane in range(16))
    return f"""
define void @{name}(ptr %state, ptr %position, ptr %out, i64 %count, i64 %threshold) {{
start:
  %threshold.above = lshr i64 %threshold, 32
  %above = trunc i64 %threshold.above to i32
  %below = trunc i64 %threshold to i32
  %above.one = insertelement <16 x i32> poison, i32 %above, i32 0
  %above.all = shufflevector <16 x i32> %above.one, <16 x i32> poison, <16 x i32> zeroinitializer
  %below.one = insertelement <16 x i32> poison, i32 %below, i32 0
  %below.all = shufflevector <16 x i32> %below.one, <16 x i32> poison, <16 x i32> zeroinitializer
  br label %look
look:
  %done = phi i64 [ 0, %start ], [ %done.one, %one ], [ %done.many, %two.end ]
  %left = sub i64 %count, %done
  %any = icmp ugt i64 %left, 0
  br i1 %any, label %choose, label %end
choose:
  %at = load i64, ptr %position
  %near = icmp uge i64 %at, {BLOCK - 1}
  %long = icmp uge i64 %left, {_PAIRS}
  %both = and i1 %near, %long
  br i1 %both, label %two, label %one
one:
  %w1 = call i32 @strop_word(ptr %state, ptr %position)
  %w2 = call i32 @strop_word(ptr %state, ptr %position)
  %w1.wide = zext i32 %w1 to i64
  %w2.wide = zext i32 %w2 to i64
  %w1.used = and i64 %w1.wide, 2097151
  %w1.up = shl i64 %w1.used, 32
  %drawn = or i64 %w1.up, %w2.wide
  %less = icmp ult i64 %drawn, %threshold
  %value = {of_bit} i1 %less to {element}
  %one.at = getelementptr {element}, ptr %out, i64 %done
  store {element} %value, ptr %one.at, align 1
  %done.one = add i64 %done, 1
  br label %look
two:
  %kept = sub i64 {BLOCK}, %at
  %words = getelementptr i32, ptr %state, i64 {_RENEWED}
  %last.at = getelementptr i32, ptr %state, i64 {BLOCK - 1}
  %last.raw = load i32, ptr %last.at, align 4
  %last = call i32 @strop_temper(i32 %last.raw)
  store i32 %last, ptr %words, align 4
  %where.one = add i64 %kept, {_RENEWED}
  call void @strop_renew(ptr %state, i64 %where.one)
  %where.two = add i64 %where.one, {BLOCK}
  call void @strop_renew(ptr %state, i64 %where.two)
  %to = getelementptr {element}, ptr %out, i64 %done
  br label %sixteen
sixteen:
  %i = phi i64 [ 0, %two ], [ %i.next, %sixteen ]
  %i.word = shl i64 %i, 1
  %pairs.at = getelementptr i32, ptr %words, i64 %i.word
  %pairs = load <32 x i32>, ptr %pairs.at, align 4
  %ones = shufflevector <32 x i32> %pairs, <32 x i32> poison, <16 x i32> <{first}>
  %twos = shufflevector <32 x i32> %pairs, <32 x i32> poison, <16 x i32> <{second}>
  %highs = and <16 x i32> %ones, splat (i32 2097151)
  %smaller = icmp ult <16 x i32> %highs, %above.all
  %same = icmp eq <16 x i32> %highs, %above.all
  %lower = icmp ult <16 x i32> %twos, %below.all
  %also = and <16 x i1> %same, %lower
  %bits = or <16 x i1> %smaller, %also
  %values = {of_bit} <16 x i1> %bits to <16 x {element}>
  %to.at = getelementptr {element}, ptr %to, i64 %i
  store <16 x {element}> %values, ptr %to.at, align 1
  %i.next = add i64 %i, 16
  %more = icmp ult i64 %i.next, {_PAIRS}
  br i1 %more, label %sixteen, label %two.end
two.end:
  %done.many = add i64 %done, {_PAIRS}
  %rest.at = sub i64 {BLOCK}, %kept
  store i64 %rest.at, ptr %position
  br label %look
end:
  ret void
}}
"""


def mersenne_twister() -> str:
    """The module: `FILL` by the size of an element, which becomes 1 with a probability of threshold / 2^53, else 0."""
    return "".join((
        _ADVANCE, _tempered("i32", ""), _tempered("<16 x i32>", ".v"), _WORDS,
        _fill(FILL[1], "i8", "zext"), _fill(FILL[4], "float", "uitofp"),
    ))  # fmt: skip
