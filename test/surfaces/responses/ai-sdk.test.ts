/** The AI SDK's default provider, `createOpenAI()(model)`: its second turn refers to stored items. */
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, type ModelMessage, stepCountIs, tool } from "ai";
import { expect, it } from "vitest";
import * as z from "zod";
import { BASE, completion, ENGINE_VARS, testGateway, upstream } from "../../gateway.ts";

const reasoned = (message: object, finish_reason = "stop") => ({
	...completion(""),
	choices: [{ index: 0, message: { role: "assistant", content: null, ...message }, finish_reason }],
});

it("goes on after a tool call and in a second turn of a reasoning model", async () => {
	const call = { id: "call_1", type: "function", function: { name: "clock", arguments: "{}" } };
	const replies = [
		reasoned({ reasoning_content: "I need the time.", tool_calls: [call] }, "tool_calls"),
		reasoned({ reasoning_content: "It is noon.", content: "Noon." }),
		reasoned({ content: "You are welcome." }),
	];
	const { fetch, requests } = upstream(() => Response.json(replies[requests.length - 1]));
	const { app } = testGateway({ vars: ENGINE_VARS, fetch });
	const sent: string[] = [];
	const openai = createOpenAI({
		apiKey: "none",
		baseURL: `${BASE}/v1`,
		fetch: async (url, init) => {
			sent.push(String(init?.body));
			return app.request(String(url), init);
		},
	});
	const model = openai("gpt-5.6-sol");
	const tools = { clock: tool({ inputSchema: z.object({}), execute: async () => "12:00" }) };
	const messages: ModelMessage[] = [{ role: "user", content: "What time is it?" }];
	const first = await generateText({ model, tools, messages, stopWhen: stepCountIs(3) });
	expect(first.text).toBe("Noon.");
	const second = await generateText({
		model,
		tools,
		messages: [...messages, ...first.response.messages, { role: "user", content: "Thanks." }],
	});
	expect(second.text).toBe("You are welcome.");
	expect(sent[1]).toContain("item_reference");
	const roles = async (index: number) =>
		(await requests[index]?.clone().json<{ messages: { role: string }[] }>())?.messages.map(
			({ role }) => role,
		);
	expect(await roles(1)).toEqual(["user", "assistant", "tool"]);
	// `response.messages` has those of the last step.
	expect(sent[2]).toContain("item_reference");
	expect(await roles(2)).toEqual(["user", "assistant", "user"]);
});
