import { describe, expect, it, vi } from "vitest";
import { unlessLeft } from "../../src/core/unless-left.ts";

const endless = () => Promise.withResolvers<never>().promise;

describe("a wait of a caller who may leave", () => {
	it("settles as the work does, and forgets the signal", async () => {
		const { signal } = new AbortController();
		const [added, removed] = [vi.spyOn(signal, "addEventListener"), vi.spyOn(signal, "removeEventListener")];
		expect(await unlessLeft(Promise.resolve(1), signal)).toBe(1);
		await expect(unlessLeft(Promise.reject(new Error("full")), signal)).rejects.toThrow("full");
		expect(added.mock.calls.map(([type]) => type)).toEqual(["abort", "abort"]);
		expect(removed.mock.calls).toEqual(added.mock.calls);
	});

	it("ends with `aborted` when the caller leaves, and at once if the caller has left", async () => {
		const caller = new AbortController();
		const waiting = unlessLeft(endless(), caller.signal);
		caller.abort();
		await expect(waiting).rejects.toMatchObject({ key: "aborted" });
		await expect(unlessLeft(endless(), caller.signal)).rejects.toMatchObject({ key: "aborted" });
	});
});
