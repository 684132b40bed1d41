import { Button } from "@cloudflare/kumo/components/button";
import { Dialog } from "@cloudflare/kumo/components/dialog";

interface Props {
	title: string;
	text: string;
	button: string;
	/** What is confirmed destroys nothing. */
	primary?: boolean;
	onConfirm(): void;
	onCancel(): void;
}

export const Confirm = ({ title, text, button, primary = false, onConfirm, onCancel }: Props) => (
	<Dialog.Root open role="alertdialog" onOpenChange={(open) => !open && onCancel()}>
		<Dialog className="dialog" size="sm">
			<Dialog.Title>{title}</Dialog.Title>
			<Dialog.Description>{text}</Dialog.Description>
			<div className="buttons">
				{/* The first control gets the focus. */}
				<Button onClick={onCancel}>Cancel</Button>
				<Button variant={primary ? "primary" : "destructive"} onClick={onConfirm}>
					{button}
				</Button>
			</div>
		</Dialog>
	</Dialog.Root>
);
