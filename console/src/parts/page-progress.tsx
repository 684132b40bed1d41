import { useEffect, useState } from "react";
import { useLoadingPage } from "./lazy-page.ts";

/** A page that loads within this time shows no progress. */
const DELAY_MS = 200;

/** Whether a page has been loading for longer than {@link DELAY_MS}. */
export function useSlowPage(): boolean {
	const loading = useLoadingPage();
	const [slow, setSlow] = useState(false);
	useEffect(() => {
		if (!loading) return;
		const timer = setTimeout(() => setSlow(true), DELAY_MS);
		return () => {
			clearTimeout(timer);
			setSlow(false);
		};
	}, [loading]);
	return slow;
}

/** A moving line at the top of the window. A screen reader announces it. */
export const PageProgress = ({ shown }: { shown: boolean }) => (
	<div role="status" className={shown ? "progress shown" : "progress"}>
		{shown && <span className="hidden">Loading the page</span>}
	</div>
);
