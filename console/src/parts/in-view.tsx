import { type ReactNode, useLayoutEffect, useRef } from "react";
import { content, isFocusLost } from "./focus.ts";

/**
 * A part that appears after a click elsewhere on the page: it comes into view and gets the focus. When it disappears, the focus
 * goes back to where it was.
 */
export function InView({ children }: { children: ReactNode }) {
	const element = useRef<HTMLDivElement>(null);
	// A layout effect ends before the part is removed, while the focus is still in it.
	useLayoutEffect(() => {
		const part = element.current;
		const opener = document.activeElement;
		part?.scrollIntoView({ block: "nearest" });
		part?.focus({ preventScroll: true });
		return () => {
			// The button that sends a form is disabled until the answer, so it has lost the focus.
			if (!isFocusLost() && !part?.contains(document.activeElement)) return;
			const next = opener instanceof HTMLElement && opener.isConnected ? opener : content();
			next?.focus({ preventScroll: true });
		};
	}, []);
	return (
		<div ref={element} tabIndex={-1} className="in-view">
			{children}
		</div>
	);
}
