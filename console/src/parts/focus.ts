/** Moves the focus of the keyboard when the control that has it is removed. */

/** The main part of the page, in the shell. */
export const CONTENT_ID = "content";

/** No control has the focus, or one that is disabled now. */
export function isFocusLost(): boolean {
	const focused = document.activeElement;
	return focused === null || focused === document.body || focused.matches(":disabled");
}

/** Puts the focus on the element if it is lost. */
export function focusIfLost(element: HTMLElement | null | undefined): void {
	if (isFocusLost()) element?.focus({ preventScroll: true });
}

export const content = (): HTMLElement | null => document.getElementById(CONTENT_ID);
