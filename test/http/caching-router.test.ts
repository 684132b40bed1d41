import type { Router } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import { describe, expect, it, vi } from "vitest";
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

	const PATTERNS = [
		...["*", "/", "/a", "/a/*", "/a/b*", "/a/:id", "/a/:id/c", "/a/:rest{.+}/c", "/a/:id{[0-9]+}"],
		...["/z/:name?", "/:first/b/c", "/other/b/c", "/1/2/3/4/5/6/7/8/9", "/1/2/3/4/5/6/7/8/10"],
	];
	it.each([
		...[
			"",
			"/",
			"//",
			"/a",
			"/a/",
			"/a/b",
			"/a/b/",
			"/a/big",
			"/a/b/c",
			"/a/x/y/z/c",
			"/a/12",
			"/z",
			"/z/x",
			"/z/x/y",
		],
		...["/other/b/c", "/unknown", "/%61/b", "/1/2/3/4/5/6/7/8/9", "/1/2/3/4/5/6/7/8/10", "/1/2/3/4/5/6/7/8"],
	])("finds the same routes of '%s' as Hono's router with all routes, in the same order", (path) => {
		type Entry = [handler: (c: never, next: never) => void, pattern: string];
		const router = new CachingRouter<Entry>();
		const reference = new TrieRouter<Entry>();
		for (const pattern of PATTERNS)
			for (const each of [router, reference]) each.add("GET", pattern, [(_c, _next) => undefined, pattern]);
		const found = (of: Router<Entry>) =>
			of.match("GET", path)[0].map(([[, pattern], parameters]) => [pattern, parameters]);
		expect(found(router)).toEqual(found(reference));
	});

	it("gives Hono's router only routes that begin like a requested path", () => {
		const added = vi.spyOn(TrieRouter.prototype, "add");
		const router = new CachingRouter<[() => string]>();
		for (const path of ["/a/:id", "/a/:id/b", "/b/:id", "/b/:id/c"]) router.add("GET", path, [() => path]);
		expect(added).not.toHaveBeenCalled();
		router.match("GET", "/b/1");
		router.match("GET", "/b/2");
		expect(added.mock.calls.map(([, path]) => path)).toEqual(["/b/:id"]);
		added.mockRestore();
	});
});
