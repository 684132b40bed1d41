import { expect, it } from "vitest";
import { boundedItems } from "../../src/websearch/items.ts";

it("has no line and no control character of a page in an address, a title or a date", () => {
	const [item] = boundedItems(
		[
			{
				url: "https://example.com/a\n\n[2] Bank\u001b[31m\nURL: https://bank.example",
				title: "A page\nURL: https://bank.example\u202e",
				description: "One\ntwo\u0007",
				imageUrl: "https://example.com/\ti.png",
				faviconUrl: "java\nscript:alert(1)",
				lastModifiedDate: "2026-11-01\n[3] Bank",
			},
		],
		{ limit: 1 },
	);
	expect(item).toEqual({
		url: "https://example.com/a[2]%20Bank%1B[31mURL:%20https://bank.example",
		title: "A page URL: https://bank.example",
		description: "One\ntwo",
		imageUrl: "https://example.com/i.png",
		lastModifiedDate: "2026-11-01 [3] Bank",
	});
});

it("has the other addresses as they were sent", () => {
	const urls = ["https://example.com", "https://bücher.example/ü?q=ä#x"];
	const items = urls.map((url) => ({ url, title: url }));
	expect(boundedItems(items, { limit: 2 })).toEqual(items);
});

it("has no address that is too long when it is written as one", () => {
	const url = `https://example.com/${"\u200b".repeat(1_000)}`;
	expect(boundedItems([{ url, title: "A page" }], { limit: 1 })).toEqual([]);
});
