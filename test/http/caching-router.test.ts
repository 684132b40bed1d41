import { describe, expect, it } from "vitest";
import { CachingRouter } from "../../src/http/caching-router.ts";

describe("CachingRouter", () => {
	/** The model of a path, as the matched route reads it. */
	function modelOf(path: string): string | undefined {
		const router = new CachingRouter<[() => string]>();
		router.add("POST", "/run/:model{.+}", [() => "answer"]);
		const [[handler] = []] = router.match("POST", path) as [[unknown, Record<string, string>][]];
		return handler?.[1].model;
	}

	it("matches a path of 64 segments completely", () => {
		const model = Array(63).fill("a").join("/");
		expect(modelOf(`/run/${model}`)).toBe(model);
	});

	it("ignores the segments of a path after the 64th", () => {
		const first = Array(63).fill("a").join("/");
		expect(modelOf(`/run/${first}/b`)).toBe(first);
		expect(modelOf(`/run/${"/".repeat(60_000)}`)).toBe("/".repeat(62));
	});
});
