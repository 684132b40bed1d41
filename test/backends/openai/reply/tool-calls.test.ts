import { expect, it } from "vitest";
import { ToolCallAssembler } from "../../../../src/backends/openai/reply/tool-calls.ts";

it("writes each piece of long arguments, without a search in those before it", () => {
	const assembler = new ToolCallAssembler({
		toolNames: ["write_file"],
		otherTools: new Set(),
		newId: () => "call_2",
	});
	const piece = (text: string) => assembler.add([{ index: 0, function: { arguments: text } }]);
	const started = [
		{ index: 0, id: "call_1", type: "function", function: { name: "write_file", arguments: "" } },
	];
	expect(assembler.add(started)).toEqual(started);
	expect(piece('{"content":"')).toEqual([{ index: 0, function: { arguments: '{"content":"' } }]);
	let characters = 0;
	for (let count = 0; count < 150_000; count++)
		for (const { function: called } of piece("line")) characters += called?.arguments?.length ?? 0;
	expect(characters).toBe(600_000);
	expect(assembler.isComplete).toBe(false);
	expect(piece('"}')).toEqual([{ index: 0, function: { arguments: '"}' } }]);
	expect(assembler.isComplete).toBe(true);
	expect(assembler.finish()).toEqual([]);
	expect(assembler.state).toBe("complete");
});
