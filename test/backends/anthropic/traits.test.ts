import { expect, it } from "vitest";
import { traitsOf } from "../../../src/backends/anthropic/traits.ts";

it.each([
	["claude-2.1", "none", true, false],
	["claude-3-haiku-20240307", "none", true, false],
	["claude-3-5-sonnet-latest", "none", true, false],
	["claude-3-7-sonnet-20250219", "budget", true, false],
	["claude-sonnet-4-20250514", "budget", true, false],
	["claude-opus-4-1-20250805", "budget", true, true],
	["claude-sonnet-4-5-20250929", "budget", true, true],
	["anthropic.claude-haiku-4-5-20251001-v1:0", "budget", true, true],
	["claude-haiku-4.5", "budget", true, true],
	["claude-opus-4-6", "adaptive", true, true],
	["claude-opus-4-7", "adaptive", false, true],
	["Claude-Sonnet-5", "adaptive", false, true],
	["claude-opus-4-10", "adaptive", false, true],
	["claude-mythos-preview", "adaptive", false, true],
	["kimi-k2", "budget", true, false],
])("%s", (name, thinking, sampling, grammar) => {
	expect(traitsOf(name)).toEqual({ thinking, sampling, grammar });
});
