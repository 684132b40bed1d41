import type { ReactNode } from "react";

/** A wide part that scrolls by itself on a narrow screen. The keyboard can scroll it too. */
export function Scroll({ label, children }: { label: string; children: ReactNode }) {
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
		<section className="scroll" tabIndex={0} aria-label={label}>
			{children}
		</section>
	);
}
