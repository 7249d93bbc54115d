import { Dialog } from '../parts/dialog.tsx'
import { areSingleKeysOn, isHelpOpen, keys, switchSingleKeys } from './keyboard.ts'

const close = () => {
  isHelpOpen.value = false
}

/** All keys. */
export const Help = () =>
  isHelpOpen.value ? (
    <Dialog title="Keys" onClose={close}>
      <dl class="keys">
        {keys.map(({ keys: names, does }) => (
          <div key={does}>
            <dt>
              {names.map(name => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p>
        <label>
          <input
            type="checkbox"
            checked={areSingleKeysOn.value}
            onChange={event => switchSingleKeys(event.currentTarget.checked)}
          />{' '}
          Single-key shortcuts
        </label>
      </p>
      <div class="dialog-actions">
        <button type="button" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  ) : null
