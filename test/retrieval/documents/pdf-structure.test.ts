import { expect, it } from "vitest";
import { structureOf } from "../../../src/retrieval/documents/pdf-structure.ts";

it("keeps the text of an unknown role, also of one that is named as a member of every object", () => {
	const items = [
		{ type: "beginMarkedContentProps", id: "mc1", tag: "P" },
		{ str: "All of the text", hasEOL: false },
		{ type: "endMarkedContent" },
	] as never;
	const tree = { children: [{ role: "constructor", children: [{ type: "content", id: "mc1" }] }] } as never;
	expect(structureOf(tree, items, new Map())).toEqual([{ type: "text", value: "All of the text" }]);
});
