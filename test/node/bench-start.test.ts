import { describe, expect, it } from "vitest";
import { startBoth } from "../../tools/bench/context.ts";

describe("two contenders of the bench", () => {
	it("are both stopped if the second cannot be started", async () => {
		const stopped: string[] = [];
		const first = async () => ({ stop: async () => void stopped.push("first") });
		const failing = async (): Promise<never> => {
			throw new Error("it exited with 1");
		};
		await expect(startBoth(first, failing)).rejects.toThrow("it exited with 1");
		expect(stopped).toEqual(["first"]);
		await expect(startBoth(failing, first)).rejects.toThrow("it exited with 1");
		expect(await startBoth(first, first)).toHaveLength(2);
		expect(stopped).toEqual(["first"]);
	});
});
