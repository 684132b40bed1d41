/** Moves the focus of the keyboard when the control that has it is removed. */

/** The main part of the page, in the shell. */
export const CONTENT_ID = "content";

/** Puts the focus on the element if no control has it, or one that is disabled now. */
export function focusIfLost(element: HTMLElement | null | undefined): void {
	const focused = document.activeElement;
	if (focused === null || focused === document.body || focused.matches(":disabled"))
		element?.focus({ preventScroll: true });
}

export const content = (): HTMLElement | null => document.getElementById(CONTENT_ID);
