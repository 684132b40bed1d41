import { type ReactNode, useEffect, useRef } from "react";

/** A part that appears after a click elsewhere on the page: it comes into view and gets the focus. */
export function InView({ children }: { children: ReactNode }) {
	const element = useRef<HTMLDivElement>(null);
	useEffect(() => {
		element.current?.scrollIntoView({ block: "nearest" });
		element.current?.focus({ preventScroll: true });
	}, []);
	return (
		<div ref={element} tabIndex={-1} className="in-view">
			{children}
		</div>
	);
}
