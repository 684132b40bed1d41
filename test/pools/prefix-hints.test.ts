import { expect, it } from "vitest";
import { PrefixHints } from "../../src/pools/prefix-hints.ts";
import { Replica } from "../../src/pools/replica.ts";

const BLOCK = { blockTokens: 512, streamed: true };
const hint = (block: number, newBlocks = 0) => ({ url: "http://1", block, blocks: 1, newBlocks });

it.each([
	[
		"two complete blocks",
		{ inputTokens: 1_024, blocks: [1, 2] },
		0,
		[{ block: 2, blocks: 2, newBlocks: 2 }],
		2,
	],
	[
		"an incomplete last block",
		{ inputTokens: 1_023, blocks: [1, 2] },
		0,
		[{ block: 1, blocks: 1, newBlocks: 2 }],
		2,
	],
	["a cached block", { inputTokens: 1_024, blocks: [1, 2] }, 512, [{ block: 2, blocks: 2, newBlocks: 1 }], 1],
	[
		"more cached than its tokens",
		{ inputTokens: 512, blocks: [1] },
		2_000,
		[{ block: 1, blocks: 1, newBlocks: 0 }],
		0,
	],
	["no complete block", { inputTokens: 511, blocks: [1] }, 0, [], 1],
	[
		"fewer hashes than blocks",
		{ inputTokens: 5_120, blocks: [1] },
		0,
		[{ block: 1, blocks: 1, newBlocks: 10 }],
		10,
	],
])("a prompt with %s is one hint", (_, prompt, cachedTokens, sent, newBlocks) => {
	const hints = new PrefixHints();
	const replica = new Replica("http://1", 0);
	hints.add(replica, { ...BLOCK, ...prompt }, cachedTokens);
	expect(hints.take()).toEqual(sent.map((one) => ({ url: "http://1", ...one })));
	expect(hints.take()).toEqual([]);
	expect(replica.newBlocks).toBe(newBlocks);
});

it.each([
	[127, 0],
	[129, 1],
	[255, 127],
	[256, 128],
	[300, 172],
])("sends the newest 128 of %i hints", (count, first) => {
	const hints = new PrefixHints();
	const replica = new Replica("http://1", 0);
	for (let block = 0; block < count; block++)
		hints.add(replica, { ...BLOCK, inputTokens: 512, blocks: [block] }, 0);
	const sent = hints.take().map(({ block }) => block);
	expect([sent[0], sent.at(-1), sent.length]).toEqual([first, count - 1, count - first]);
});

it("uses a hint until its replica has as many new blocks as its cache", () => {
	const hints = new PrefixHints();
	const replica = new Replica("http://1", 0);
	replica.cacheBlocks = 10;
	hints.learn(replica, hint(1, 3));
	hints.learn(replica, hint(2, 10));
	expect(hints.longest([1])).toMatchObject({ replica, blocks: 1 });
	hints.learn(replica, hint(3, 1));
	expect(hints.longest([1])).toBeUndefined();
	expect(hints.longest([2, 1])).toMatchObject({ replica });
	hints.delete(new Replica("http://2", 0));
	expect(hints.longest([2])).toBeDefined();
	hints.delete(replica);
	expect(hints.longest([2])).toBeUndefined();
});

it("keeps the newest 20,000 hints", () => {
	const hints = new PrefixHints();
	const replica = new Replica("http://1", 0);
	for (let block = 0; block < 20_000; block++) hints.learn(replica, hint(block));
	expect(hints.longest([0])).toBeDefined();
	hints.learn(replica, hint(0));
	hints.learn(replica, hint(20_000));
	expect([0, 1, 2, 20_000].map((block) => hints.longest([block]) !== undefined)).toEqual([
		true,
		false,
		true,
		true,
	]);
});
