import { env, SELF } from "cloudflare:test";
import { expect, it } from "vitest";

const get = (path: string, init?: RequestInit) => SELF.fetch(`https://notes.example${path}`, init);

it("has the runtime's own binding", () => {
	expect(env.AI.constructor.name).toBe("Ai");
});

it("answers from the earlier text, as a stream", async () => {
	const response = await get("/ask?text=My+name+is+Alice.+What+is+my+name%3F");
	expect(response.headers.get("content-type")).toBe("text/event-stream");
	expect(await response.text()).toMatch(/^data: \{"response":[\s\S]*Alice[\s\S]*data: \[DONE\]\n\n$/);
});

it("transcribes what it spoke", async () => {
	const spoken = await get("/speak?text=Buy+milk+and+bread.");
	expect(spoken.headers.get("content-type")).toBe("audio/mpeg");
	const heard = await get("/transcribe", { method: "POST", body: spoken.body });
	expect(JSON.stringify(await heard.json())).toContain('"transcript":"Buy milk and bread."');
});

it("fails as Workers AI does", async () => {
	const call = env.AI.run("@cf/meta/llama-3.1-8b-instruct-fp8", { prompt: "" });
	await expect(call).rejects.toThrow(/^5006: /);
});
