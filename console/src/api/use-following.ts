import { useEffect } from "react";
import type { useLoad } from "./use-load.ts";

const FOLLOW_MS = 2_000;

/** Loads again some time after each answer. A load that takes longer than that completes, because a reload would abort it. */
export function useFollowing(
	isOn: boolean,
	{ state, reload }: Pick<ReturnType<typeof useLoad>, "state" | "reload">,
): void {
	useEffect(() => {
		if (!isOn || state === "loading") return;
		const timer = setInterval(() => {
			if (!document.hidden) reload();
		}, FOLLOW_MS);
		return () => clearInterval(timer);
	}, [isOn, state, reload]);
}
