import { expect, it } from "vitest";
import { run } from "./fixture.ts";

const positive = async (text: string) => {
	const { labels } = await run("text-classification", { text });
	expect(labels.map(({ label }) => label)).toEqual(["NEGATIVE", "POSITIVE"]);
	expect((labels[0]?.score ?? 0) + (labels[1]?.score ?? 0)).toBeCloseTo(1, 10);
	return labels[1]?.score ?? 0;
};

it("leans with the words", async () => {
	expect(await positive("This pizza is great!")).toBeGreaterThan(0.9);
	expect(await positive("This pizza is awful.")).toBeLessThan(0.1);
	expect(await positive("This is a pizza.")).toBe(0.5);
	expect(await positive("")).toBe(0.5);
});

it("turns with a negation and grows with an intensifier", async () => {
	expect(await positive("The film is not good")).toBeLessThan(0.2);
	expect(await positive("I don't like it")).toBeLessThan(0.3);
	expect(await positive("It is not bad")).toBeGreaterThan(0.7);
	expect(await positive("It is very good")).toBeGreaterThan(await positive("It is good"));
});

it("does not find words in the prototype of its list", async () => {
	expect(await positive("constructor toString __proto__ hasOwnProperty")).toBe(0.5);
});
