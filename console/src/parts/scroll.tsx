import type { ReactNode } from "react";

interface Props {
	label: string;
	framed?: boolean | undefined;
	children: ReactNode;
}

/** A wide part that scrolls by itself on a narrow screen. The keyboard can scroll it too. */
export function Scroll({ label, framed = false, children }: Props) {
	return (
		// biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
		<section className={framed ? "scroll framed" : "scroll"} tabIndex={0} aria-label={label}>
			{children}
		</section>
	);
}
