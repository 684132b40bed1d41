import { describe, expect, it } from "vitest";
import { responses } from "../../../src/dialects/responses/responses.ts";
import {
	answered,
	completion,
	contextOf,
	delta,
	eventsOf,
	hubText,
	jsonOf,
	parseEvents,
	readChat,
	streamed,
	streamOf,
	USAGE,
	USAGE_CHUNK,
} from "./fixtures.ts";

const look = { type: "function", name: "look", parameters: { type: "object" } };
const BODY = {
	input: [{ role: "user", content: "Build a boat." }, { type: "compaction_trigger" }],
	tools: [look],
	text: { format: { type: "json_object" } },
};
/** The base64url of "The user wants a boat. ⛵". */
const ENCODED = "ganglion-summary-1.VGhlIHVzZXIgd2FudHMgYSBib2F0LiDim7U";
const SUMMARY = "The user wants a boat. ⛵";
const ITEM = { id: "cmp_01", type: "compaction", encrypted_content: ENCODED };

describe("a request that ends with a compaction trigger", () => {
	it("asks the model for a summary, without calls", () => {
		const { messages, tools, tool_choice, response_format, dropped } = readChat(BODY);
		expect(messages).toEqual([
			{ role: "user", content: "Build a boat." },
			{ role: "user", content: expect.stringContaining("Write a summary of this conversation.") },
		]);
		expect(tools).toHaveLength(1);
		expect(tool_choice).toBe("none");
		expect(response_format).toBeUndefined();
		expect(dropped).toBeUndefined();
	});

	it("is answered with one compaction item", () => {
		const answer = answered(completion({ content: SUMMARY, reasoning_content: "Hm." }));
		expect(jsonOf(responses.writer.write(answer, contextOf(BODY)))).toMatchObject({
			status: "completed",
			output: [ITEM],
			usage: USAGE,
		});
	});

	it("is answered with one compaction item in a stream", async () => {
		const hub = hubText([
			delta({ role: "assistant", reasoning_content: "Hm." }),
			delta({ content: "The user wants " }),
			delta({ content: "a boat. ⛵" }),
			delta({}, "stop"),
			USAGE_CHUNK,
		]);
		const rendered = responses.writer.write(streamed(streamOf([hub])), contextOf({ ...BODY, stream: true }));
		const events = parseEvents(await new Response(eventsOf(rendered)).text());
		expect(events.map(({ type }) => type)).toEqual([
			"response.created",
			"response.in_progress",
			"response.output_item.added",
			"response.output_item.done",
			"response.completed",
		]);
		expect(events[3]).toMatchObject({ output_index: 0, item: ITEM });
		expect(events[4]).toMatchObject({ response: { output: [ITEM], usage: USAGE } });
	});

	it("fails without a summary", async () => {
		const empty = answered(completion({ content: " \n" }));
		expect(() => responses.writer.write(empty, contextOf(BODY))).toThrowError("The model wrote no summary");
		const rendered = responses.writer.write(
			streamed(streamOf([hubText([delta({}, "stop")])])),
			contextOf({ ...BODY, stream: true }),
		);
		const events = parseEvents(await new Response(eventsOf(rendered)).text());
		expect(events.map(({ type }) => type)).toEqual([
			"response.created",
			"response.in_progress",
			"error",
			"response.failed",
		]);
		expect(events.at(-1)).toMatchObject({ response: { status: "failed", output: [] } });
	});
});

describe("a compaction item in the input", () => {
	it("is the summary for the model", () => {
		const { messages, dropped } = readChat({ input: [ITEM, { role: "user", content: "Go on." }] });
		expect(messages).toEqual([
			{
				role: "user",
				content: `The conversation so far was replaced by this summary:\n\n${SUMMARY}`,
			},
			{ role: "user", content: "Go on." },
		]);
		expect(dropped).toBeUndefined();
	});
});
