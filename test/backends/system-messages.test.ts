import { describe, expect, it } from "vitest";
import { foldSystemMessages } from "../../src/backends/system-messages.ts";
import type { ChatMessage } from "../../src/tasks/text-generation/types.ts";
import { TARGET } from "./upstream.ts";

/** `s`: system, `u`: user, `a`: assistant, `t`: tool; the rest is the text. */
const ROLES = { s: "system", d: "developer", u: "user", a: "assistant", t: "tool" } as const;
const messages = (...short: string[]): ChatMessage[] =>
	short.map((text) => ({ role: ROLES[text[0] as keyof typeof ROLES], content: text }));
const fold = (...short: string[]) =>
	foldSystemMessages(messages(...short), TARGET).map(({ role, content }) => `${role}: ${content}`);

describe("system messages", () => {
	it("at the head become one", () => {
		expect(fold("s1", "d2", "u1", "a1")).toEqual(["system: s1\n\nd2", "user: u1", "assistant: a1"]);
	});

	it("in the middle become part of the user's turn before them, else of the one after", () => {
		expect(fold("s1", "u1", "s2", "a1", "s3", "u2")).toEqual([
			"system: s1",
			"user: u1\n\n<system>\ns2\n</system>",
			"assistant: a1",
			"user: <system>\ns3\n</system>\n\nu2",
		]);
	});

	it("are joined to one user's turn only", () => {
		expect(fold("a1", "s1", "u1", "u2")).toEqual([
			"assistant: a1",
			"user: <system>\ns1\n</system>\n\nu1",
			"user: u2",
		]);
		expect(fold("a1", "s1", "a2", "u1")).toEqual([
			"assistant: a1",
			"user: <system>\ns1\n</system>",
			"assistant: a2",
			"user: u1",
		]);
	});

	it("without a user's turn beside them are one of their own", () => {
		expect(fold("u1", "a1", "t1", "s1", "s2", "a2")).toEqual([
			"user: u1",
			"assistant: a1",
			"tool: t1",
			"user: <system>\ns1\n</system>\n\n<system>\ns2\n</system>",
			"assistant: a2",
		]);
	});

	it("of parts keep them", () => {
		const image = { type: "image_url" as const, image_url: { url: "data:," } };
		const folded = foldSystemMessages(
			[
				{ role: "user", content: [image] },
				{ role: "system", content: [{ type: "text", text: "s1" }] },
			],
			TARGET,
		);
		expect(folded).toEqual([
			{
				role: "user",
				content: [
					image,
					{ type: "text", text: "<system>" },
					{ type: "text", text: "s1" },
					{ type: "text", text: "</system>" },
				],
			},
		]);
	});

	it("may have no content", () => {
		const folded = foldSystemMessages(
			[
				{ role: "system", content: null },
				{ role: "system", content: "s1" },
				{ role: "user", content: null },
				{ role: "system", content: null },
			],
			TARGET,
		);
		const text = (content: string) => ({ type: "text", text: content });
		expect(folded).toEqual([
			{ role: "system", content: [text("s1")] },
			{ role: "user", content: [text("<system>"), text("</system>")] },
		]);
	});

	it("are left alone where the engine takes them anywhere, and where there is nothing to fold", () => {
		const middle = messages("s1", "u1", "s2");
		expect(foldSystemMessages(middle, { ...TARGET, systemMessages: "anywhere" })).toEqual(middle);
		const plain = messages("s1", "u1", "a1", "u2");
		expect(foldSystemMessages(plain, TARGET)).toEqual(plain);
	});

	it("leave the beginning unchanged when a conversation continues, and the input untouched", () => {
		const turns = ["s1", "s2", "u1", "s3", "a1", "t1", "s4", "a2", "u2", "s5", "a3", "s6", "u3"];
		const text = (count: number) =>
			foldSystemMessages(messages(...turns.slice(0, count)), TARGET)
				.map(({ role, content }) => `<${role}>${content}`)
				.join("");
		for (let count = 1; count < turns.length; count++)
			expect(text(count + 1).startsWith(text(count))).toBe(true);
		const input = messages(...turns);
		foldSystemMessages(input, TARGET);
		expect(input).toEqual(messages(...turns));
	});
});
