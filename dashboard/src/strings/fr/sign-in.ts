import type { Strings } from '../catalogue.ts';

export const signIn: Strings['signIn'] = {
  title: 'Se connecter',
  username: 'Nom d’utilisateur',
  password: 'Mot de passe',
  submit: 'Se connecter',
  asGuest: 'Regarder en invité',
  wrong: 'Le nom d’utilisateur ou le mot de passe est faux.',
  forgotten: 'Mot de passe oublié ? La personne qui gère ce service peut en définir un nouveau.',
  toRegister: 'Créer un compte',
  toSignIn: 'J’ai un compte',
  registerTitle: 'Créer un compte',
  registerSubmit: 'Créer le compte',
  registerClosed:
    'Pas encore de compte ? Les comptes sont créés par la personne qui gère ce service. Demandez-lui-en un.',
  usernameMissing: 'Choisissez un nom d’utilisateur.',
  usernameMeans: 'Pour vous connecter. Il ne peut pas être changé ensuite.',
  passwordMeans: (length) => `Au moins ${length} caractères.`,
};
