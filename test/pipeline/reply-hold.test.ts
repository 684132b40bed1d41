import { expect, it } from "vitest";
import { bufferedBytes } from "../../src/core/process-counts.ts";
import { ReplyHold } from "../../src/pipeline/reply-hold.ts";

it("a call that fails releases its own bytes, and the end of the request those of all calls", async () => {
	const before = bufferedBytes.report().used;
	const held = (): number => bufferedBytes.report().used - before;
	const { promise: ended, resolve: end } = Promise.withResolvers<void>();
	const request = { account: crypto.randomUUID(), state: "admitted", ended };
	const failed = new ReplyHold(request);
	const answered = new ReplyHold(request);
	failed.grow(1_000);
	answered.grow(300);
	answered.grow(20);
	expect(held()).toBe(1_320);
	failed.release();
	expect(held()).toBe(320);
	failed.release();
	end();
	await ended;
	expect(held()).toBe(0);
	request.state = "ended";
	answered.grow(5_000);
	expect(held()).toBe(0);
});
