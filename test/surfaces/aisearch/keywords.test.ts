/** Keywords in scripts without spaces: developers.cloudflare.com/changelog/post/2026-10-16-cjk-keyword-search. */
import { describe, expect, it } from "vitest";
import { searchApi } from "./api.ts";

const PAGES: Readonly<Record<string, string>> = {
	"en.md": "To reset a password, open the settings page.",
	"zh.md": "如何重置密码：打开设置页面，然后选择“忘记密码”。",
	"zh-short.md": "忘记密码",
	"zh-invoice.md": "发票每月第一天通过邮件发送。",
	"ja.md": "経費精算の締め日は毎月末日です。",
	"ja-cat.md": "猫は庭にいる。",
	"th.md": "วิธีรีเซ็ตรหัสผ่านของคุณ",
	"ko.md": "비밀번호를 재설정하려면 설정을 여십시오.",
};

async function indexed(tokenizer: "porter" | "trigram") {
	const api = searchApi();
	await api.create("docs", {
		indexing_options: { keyword_tokenizer: tokenizer },
		index_method: { vector: false, keyword: true },
	});
	for (const [key, text] of Object.entries(PAGES)) await api.upload(key, text);
	const search = (query: string, retrieval: object = {}) =>
		api.post("/instances/docs/search", { query, ai_search_options: { retrieval } });
	const keys = async (query: string, retrieval: object = {}): Promise<string[]> => {
		const { result } = await search(query, retrieval);
		return result.chunks.map(({ item }: { item: { key: string } }) => item.key);
	};
	return { ...api, search, keys };
}

describe("keywords in scripts without spaces", () => {
	it("match with the tokenizer trigram: words of two characters, also at the end, and questions", async () => {
		const api = await indexed("trigram");
		expect((await api.keys("密码")).sort()).toEqual(["zh-short.md", "zh.md"]);
		expect(await api.keys("密码怎么重置？")).toEqual(["zh.md", "zh-short.md"]);
		expect((await api.keys("请问，密码怎么重置？在哪里？"))[0]).toBe("zh.md");
		expect(await api.keys("发票 邮件")).toEqual(["zh-invoice.md"]);
		expect(await api.keys("发票 密码")).toEqual([]);
		expect((await api.keys("发票 密码", { keyword_match_mode: "or" })).sort()).toEqual([
			"zh-invoice.md",
			"zh-short.md",
			"zh.md",
		]);
		expect(await api.keys("経費精算の締め日はいつですか？")).toEqual(["ja.md"]);
		expect(await api.keys("猫")).toEqual(["ja-cat.md"]);
		expect(await api.keys("ฉันจะรีเซ็ตรหัสผ่านได้อย่างไร")).toEqual(["th.md"]);
		expect(await api.keys("비밀번호가 설정")).toEqual(["ko.md"]);
		expect(await api.keys("犬")).toEqual([]);
	});

	it("match no text that was deleted or replaced", async () => {
		const api = await indexed("trigram");
		await api.upload("zh-short.md", "发票");
		expect(await api.keys("密码")).toEqual(["zh.md"]);
		const { result } = await api.get("/instances/docs/items?key=zh.md");
		await api.delete(`/instances/docs/items/${result[0].id}`);
		expect(await api.keys("密码")).toEqual([]);
		expect((await api.keys("发票")).sort()).toEqual(["zh-invoice.md", "zh-short.md"]);
	});

	it.each(['密"', "密* OR 码", "密码\u0000密", "“密码”) OR (发票", "密".repeat(5_000)])(
		"are never syntax: %j",
		async (query) => {
			expect((await (await indexed("trigram")).search(query)).status).toBe(200);
		},
	);

	it("are a message that names the setting, if nothing matches with the tokenizer porter", async () => {
		const api = await indexed("porter");
		const messages = [
			{ message: expect.stringContaining('set indexing_options.keyword_tokenizer to "trigram"') },
		];
		expect(await api.search("重置密码")).toMatchObject({ result: { chunks: [] }, messages });
		expect(
			await api.post("/namespaces/default/search", {
				query: "重置密码",
				ai_search_options: { instance_ids: ["docs"] },
			}),
		).toMatchObject({ result: { chunks: [] }, messages });
		expect(await api.search("nothing")).toMatchObject({ messages: [] });
		await api.put("/instances/docs", { indexing_options: { keyword_tokenizer: "trigram" } });
		expect(await api.keys("重置密码")).toEqual(["zh.md", "zh-short.md"]);
	});
});
