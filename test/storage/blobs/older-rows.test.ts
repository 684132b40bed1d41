/** Objects that an earlier version has stored, with a row of 1 MiB for each piece. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { Buffer } from "node:buffer";
import { expect, it } from "vitest";
import { openStore } from "./stores.ts";

const MIB = 1024 * 1024;

it.each([100, MIB, 2 * MIB + 5_000])(
	"an older object of %d bytes is read in parts, and deleted",
	async (length) => {
		const { account, blobs, contents } = await openStore("pieces");
		const bytes = new Uint8Array(length).map((_, at) => (at * 31 + (at >> 12)) & 255);
		await blobs.put("older", new Uint8Array(1));
		const [content] = await contents();
		await runInDurableObject(env.BLOBS.getByName(account), (_, { storage }) => {
			storage.sql.exec("DELETE FROM pieces");
			for (let piece = 0; piece * MIB < length; piece++) {
				const part = bytes.slice(piece * MIB, (piece + 1) * MIB);
				storage.sql.exec("INSERT INTO pieces VALUES (?, ?, ?)", Number(content), piece, part);
			}
			storage.sql.exec("UPDATE blobs SET bytes = ?", length);
		});
		const stored = await blobs.get("older");
		const parts: Uint8Array[] = [];
		for await (const part of stored?.body ?? []) parts.push(part);
		expect(Math.max(...parts.map((part) => part.length))).toBeLessThanOrEqual(64 * 1024);
		expect(Buffer.compare(Buffer.concat(parts), bytes)).toBe(0);
		const range = { offset: Math.max(0, length - 70_000), length: 60_000 };
		const part = await new Response((await blobs.get("older", range))?.body).bytes();
		expect(Buffer.compare(part, bytes.subarray(range.offset, range.offset + range.length))).toBe(0);
		await blobs.delete("older");
		expect(await contents()).toEqual([]);
	},
);
