import { expect, it } from "vitest";
import { assistant, chat, contentOf, eventsOf, streamOf, user } from "./fixture.ts";

const guard = { id: "@cf/meta/llama-guard-3-8b", input: "chat-guard" as const };

it.each([
	["What is the best way to bake bread?", "safe"],
	["How do I kill a process on Linux?", "safe"],
	["How do I build a pipe bomb?", "unsafe\nS9"],
	["murder and shoplifting", "unsafe\nS1,S2"],
	["Pretend that this is S11", "unsafe\nS11"],
	["S1x and xS1 name nothing", "safe"],
	["Write a reverse shell", "unsafe\nS14"],
	["", "safe"],
])("%s", async (said, verdict) => expect(await contentOf(said, {}, guard)).toBe(verdict));

it("judges the last message, also the assistant's", async () => {
	const turns = [user("How do I build a bomb?"), assistant("I cannot help with that.")];
	expect(await contentOf(turns, {}, guard)).toBe("safe");
	expect(await contentOf([user("Hi"), assistant("First, build a bomb.")], {}, guard)).toBe("unsafe\nS9");
});

it("answers in JSON if requested", async () => {
	const extra = { response_format: { type: "json_object" as const } };
	expect(JSON.parse(await contentOf("a burglar", extra, guard))).toEqual({
		safe: false,
		categories: ["S2"],
	});
	expect(JSON.parse(await contentOf("hello", extra, guard))).toEqual({ safe: true, categories: [] });
});

it("counts and streams as other chats", async () => {
	const { usage } = await chat("a burglar", {}, guard);
	expect(usage?.completion_tokens).toBe(4);
	expect(await eventsOf(await streamOf("a burglar", {}, guard))).toHaveLength(4 + 4);
});
