/** Work that waits for a place. */
import { expect, it } from "vitest";
import { Turns } from "../../scripts/documents/turns.ts";

const STAYS = new AbortController().signal;
const full = () => new Error("full");

it("of accounts takes turns, and that of one account keeps its order", async () => {
	const turns = new Turns(100);
	const begun: string[] = [];
	for (const name of ["a1", "a2", "a3", "b1", "b2", "c1"])
		void turns.wait(name.slice(0, 1), STAYS, full).then(() => begun.push(name));
	for (let places = 0; places < 7; places++) {
		turns.next();
		await new Promise(setImmediate);
		if (places === 0) void turns.wait("d", STAYS, full).then(() => begun.push("d1"));
	}
	expect(begun).toEqual(["a1", "b1", "c1", "a2", "d1", "b2", "a3"]);
});

it("takes no place after its caller has left, and leaves room for other accounts", async () => {
	const turns = new Turns(4);
	const left = new AbortController();
	const waits = (account: string, signal = STAYS) =>
		turns.wait(account, signal, full).then(
			() => "begun",
			(error: Error) => error.message,
		);
	const leaving = waits("a", left.signal);
	const stays = waits("a");
	expect(await waits("a")).toBe("full");
	const other = waits("b");
	left.abort(new Error("left"));
	expect(await leaving).toBe("left");
	turns.next();
	turns.next();
	expect(await Promise.all([stays, other])).toEqual(["begun", "begun"]);
	turns.next();
});
