// Copies a text. Browsers have a clipboard API on https and localhost alone; elsewhere, on the plain addresses of a local
// network, what is selected is copied as by the keyboard.

/** Call it from a click. False where the browser refuses, so that the text has to be shown for copying by hand. */
export async function copyText(text: string): Promise<boolean> {
  // The type says that it is always there.
  const clipboard = navigator.clipboard as Clipboard | undefined;
  try {
    await (clipboard ?? selection).writeText(text);
    return true;
  } catch {
    return false;
  }
}

const selection = {
  async writeText(text: string): Promise<void> {
    const before = document.activeElement;
    const area = document.createElement('textarea');
    area.value = text;
    area.readOnly = true;
    area.style.position = 'fixed';
    area.style.opacity = '0';
    // A dialog takes the focus back from all that is outside.
    (before?.closest('[role="dialog"], [role="menu"]') ?? document.body).append(area);
    try {
      area.select();
      // Deprecated, and the only way without the API.
      if (!document.execCommand('copy')) throw new Error('refused');
    } finally {
      area.remove();
      if (before instanceof HTMLElement) before.focus();
    }
  },
};
