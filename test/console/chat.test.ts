/** The chat of the playground. */
import { encode } from "fast-png";
import type { Page } from "playwright-core";
import { describe, expect, inject, it } from "vitest";
import { faultsOf, NARROW } from "./axe.ts";
import { openSession, sharedSession, shoot } from "./browser.ts";
import type { EngineState } from "./engine.ts";
import { ENGINE_MODEL } from "./gateways.ts";

const VISION_MODEL = "@cf/meta/llama-4-scout-17b-16e-instruct";
const TOOL = {
	type: "function",
	function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
};
/** Markdown that tries to run a script and to send requests. */
const HOSTILE = [
	"# Title",
	"Some **bold** text and `code`.",
	"<script>document.title = 'script'</script>",
	'<img src="https://elsewhere.example/tag.png" onerror="document.title = 1">',
	"",
	"![image](https://elsewhere.example/image.png?text=secret)",
	"[script](javascript:document.title='link') [data](data:text/html,hello) [page](/console/tokens)",
	"[web](https://elsewhere.example/page)",
	"",
	"| Engine | Tokens |",
	"| --- | --- |",
	"| one | 12 |",
	"",
	"```js",
	"const answer = 42;",
	"```",
].join("\n");
const SCHEMA = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };

const engineState = async (): Promise<EngineState> =>
	(await (await fetch(`${inject("engine")}/state`)).json()) as EngineState;

async function send(page: Page, text: string): Promise<void> {
	await page.getByLabel("Message").fill(text);
	await page.getByRole("button", { name: "Send" }).click();
}

describe("a chat", () => {
	it.each(["dev", "serve"] as const)(
		"on npm run %s shows its cost, its speed and who answered",
		async (runtime) => {
			const tab = await openSession(runtime, "/console");
			const { page } = tab;
			await send(page, "Hello");
			const measured = page.getByRole("region", { name: "Measurements" });
			await measured.waitFor();
			const text = await measured.textContent();
			for (const name of ["Neurons", "Input tokens", "Output tokens", "First token", "Tokens per second"])
				expect(text).toContain(name);
			expect(text).toMatch(/Answered bysimulator/);
			await page.getByText('You wrote: "Hello"').waitFor();
			if (runtime === "dev") await shoot(page, "console");
			await page.getByRole("tab", { name: "OpenAI SDK" }).click();
			expect(await page.getByLabel("OpenAI SDK", { exact: true }).textContent()).toContain(
				"client.chat.completions.create",
			);
			await tab.close();
		},
	);

	it("shows the cost of a stream that has it in its last comment", async () => {
		const tab = await sharedSession("serve", "/console");
		const { page } = tab;
		const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
		const chunks = [{ choices: [{ index: 0, delta: { content: "Hi" } }] }, { choices: [], usage }];
		const body = `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n: ganglion neurons=7.31\n\n`;
		await page.route("**/ai/v1/chat/completions", (route) =>
			route.fulfill({ contentType: "text/event-stream", body }),
		);
		await send(page, "Hello");
		const measured = page.getByRole("region", { name: "Measurements" });
		await measured.waitFor();
		expect(await measured.textContent()).toMatch(/Neurons7\.31.*Input tokens3/);
		await tab.close();
	});

	it("stops: the connection of the engine closes, and the text stays", async () => {
		const tab = await sharedSession("serve", `/console/playground/${ENGINE_MODEL}`);
		const { page } = tab;
		const { closed } = await engineState();
		await send(page, "Count");
		await page.getByText("One two three").waitFor();
		expect((await engineState()).open).toBe(1);
		await page.getByRole("button", { name: "Stop" }).click();
		await expect.poll(engineState).toEqual({ open: 0, closed: closed + 1 });
		await page.getByRole("button", { name: "Send" }).waitFor();
		expect(await page.getByRole("article", { name: "Model" }).textContent()).toContain("One two three");
		await tab.close();
	});

	it("renders Markdown without its HTML, and sends no request to an address in it", async () => {
		const tab = await sharedSession("dev", "/console");
		const { page } = tab;
		await send(page, `Reply with exactly: ${HOSTILE}`);
		await page.getByRole("region", { name: "Measurements" }).waitFor();
		const answer = page.getByRole("article", { name: "Model" });
		await answer.getByRole("heading", { name: "Title" }).waitFor();
		expect(await answer.locator("strong, code, td").allTextContents()).toEqual([
			"Model",
			"bold",
			"code",
			"one",
			"12",
		]);
		expect(await answer.getByLabel("code", { exact: true }).textContent()).toBe("const answer = 42;");
		expect(await answer.locator("script, img, iframe").count()).toBe(0);
		expect(await answer.getByText("<script>").count()).toBe(1);
		expect(
			await answer.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href"))),
		).toEqual(["https://elsewhere.example/image.png?text=secret", "https://elsewhere.example/page"]);
		expect(await faultsOf(page)).toEqual([]);
		await page.setViewportSize(NARROW);
		expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(NARROW.width);
		await page.getByRole("switch", { name: "Render Markdown" }).click();
		await answer.getByText("**bold**").waitFor();
		expect(await page.title()).toBe("Playground – Ganglion");
		await tab.close();
	});

	it("calls a tool, takes its result, and answers in a JSON schema", async () => {
		const tab = await sharedSession("dev", "/console");
		const { page } = tab;
		await page.getByLabel("Tools (JSON)").fill(JSON.stringify([TOOL]));
		await send(page, 'Use get_weather with {"city":"Paris"}');
		await page.getByText('get_weather({"city":"Paris"})').waitFor();
		await page.getByLabel("Result of get_weather").fill("18 degrees");
		await page.getByRole("button", { name: "Send" }).click();
		await page.getByRole("article", { name: "Model" }).getByText("18 degrees").waitFor();

		await page.getByRole("button", { name: "Clear" }).click();
		await page.getByLabel("Tools (JSON)").fill("");
		await page.getByLabel("JSON schema of the answer").fill(JSON.stringify(SCHEMA));
		await send(page, "A name");
		await page.getByText('{"name":"simulated name"}').waitFor();
		expect(await page.getByLabel("curl", { exact: true }).textContent()).toContain('"response_format":');
		await tab.close();
	});

	it("sends an image", async () => {
		const tab = await sharedSession("dev", `/console/playground/${VISION_MODEL}`);
		const { page } = tab;
		const png = encode({ width: 8, height: 8, channels: 3, data: new Uint8Array(192) });
		await page.getByLabel("Image").setInputFiles({
			name: "black.png",
			mimeType: "image/png",
			buffer: Buffer.from(png),
		});
		const request = page.waitForRequest(/chat\/completions/);
		await send(page, "What is it?");
		expect((await request).postDataJSON().messages[0].content[1].image_url.url).toMatch(
			/^data:image\/png;base64,iVBOR/,
		);
		await page.getByRole("region", { name: "Measurements" }).waitFor();
		await page.getByAltText("Attached by you").waitFor();
		await tab.close();
	});
});
