import { expect, it } from "vitest";
import { countTokens } from "../../../src/backends/simulator/tokens.ts";
import { run } from "./fixture.ts";

const text =
	"The harbour of Porto Azul was rebuilt last year. Gulls cried. The new harbour lets larger ships into Porto Azul. The cook burnt the soup. Fishermen say the rebuilt harbour changed Porto Azul for good.";

it("takes the sentences that say what the others say, in their order", async () => {
	const { summary, usage } = await run("summarization", { text, max_length: 1024 });
	expect(summary).toBe(
		"The harbour of Porto Azul was rebuilt last year. The new harbour lets larger ships into Porto Azul. Fishermen say the rebuilt harbour changed Porto Azul for good.",
	);
	expect(usage).toEqual({
		prompt_tokens: countTokens(text),
		completion_tokens: countTokens(summary),
		total_tokens: countTokens(text) + countTokens(summary),
	});
});

it.each([1, 5, 12, 25])("stays within %d tokens", async (max_length) => {
	const { summary } = await run("summarization", { text, max_length });
	expect(summary).not.toBe("");
	expect(countTokens(summary)).toBeLessThanOrEqual(max_length);
});

it("gives back what is too short to sum up", async () => {
	for (const short of ["", "Hello.", "…"])
		expect((await run("summarization", { text: short, max_length: 100 })).summary).toBe(short);
});
